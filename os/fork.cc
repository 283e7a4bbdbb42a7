#include "os/fork.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

#if defined(__SANITIZE_THREAD__)
#define LAPWING_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LAPWING_THREAD_SANITIZER
#endif
#endif
#if defined(LAPWING_THREAD_SANITIZER)
extern "C" {
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace lapwing {

namespace detail {
std::uint32_t fork_generation = 0;
}  // namespace detail

namespace {

constexpr std::size_t kBitsPerWord = 64;

}  // namespace

// One per process. It is constant-initialised and never destroyed, because the program's statics,
// and threads at its end, may use it.
struct ForkRegistry {
  // An object that is left to the parent.
  struct Left {
    void* object;
    Left* next;
  };

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t held_no_more = PTHREAD_COND_INITIALIZER;
  std::size_t holds = 0;
  ForkWatch* watches = nullptr;
  Left* left = nullptr;
  std::uint64_t* descriptors = nullptr;  // one bit per descriptor number
  std::size_t descriptor_words = 0;

  void lock() { pthread_mutex_lock(&mutex); }
  void unlock() { pthread_mutex_unlock(&mutex); }

  void set_descriptor(int fd, bool open);
  void close_descriptors();

  // Handlers of pthread_atfork. The mutex is held from prepare() until in_parent() or in_child().
  static void prepare();
  static void in_parent();
  static void in_child();

  static void add(ForkWatch& watch);
  static void remove(ForkWatch& watch);
};

namespace {

// The thread sanitizer treats the parent's other threads as threads of the child.
class IgnoredBySanitizer {
 public:
#if defined(LAPWING_THREAD_SANITIZER)
  IgnoredBySanitizer() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~IgnoredBySanitizer() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
#else
  IgnoredBySanitizer() {}
  ~IgnoredBySanitizer() {}
#endif
  IgnoredBySanitizer(const IgnoredBySanitizer&) = delete;
  IgnoredBySanitizer& operator=(const IgnoredBySanitizer&) = delete;
};

constinit ForkRegistry registry;

[[maybe_unused]] const int registered =
    pthread_atfork(&ForkRegistry::prepare, &ForkRegistry::in_parent, &ForkRegistry::in_child);

}  // namespace

void ForkRegistry::prepare() {
  registry.lock();
  while (registry.holds > 0) pthread_cond_wait(&registry.held_no_more, &registry.mutex);
}

void ForkRegistry::in_parent() {
  registry.unlock();
}

// Runs in the child's only thread. Allocates nothing, because another thread of the parent may have
// been inside the allocator.
void ForkRegistry::in_child() {
  const IgnoredBySanitizer ignored;
  ++detail::fork_generation;
  registry.close_descriptors();
  for (ForkWatch* watch = registry.watches; watch != nullptr; watch = watch->next_) {
    if (watch->on_child_ != nullptr) watch->on_child_(watch->object_);
  }
  pthread_cond_init(&registry.held_no_more, nullptr);  // the child has no waiting threads
  registry.unlock();
}

void ForkRegistry::close_descriptors() {
  for (std::size_t word = 0; word < descriptor_words; ++word) {
    for (std::size_t bit = 0; descriptors[word] != 0 && bit < kBitsPerWord; ++bit) {
      if ((descriptors[word] >> bit & 1) != 0) ::close(static_cast<int>(word * kBitsPerWord + bit));
    }
    descriptors[word] = 0;
  }
}

void ForkRegistry::set_descriptor(int fd, bool open) {
  const std::size_t word = static_cast<std::size_t>(fd) / kBitsPerWord;
  const std::uint64_t bit = std::uint64_t{1} << (static_cast<std::size_t>(fd) % kBitsPerWord);
  if (word >= descriptor_words) {
    if (!open) return;
    const std::size_t words = std::max(word + 1, 2 * descriptor_words);
    auto* const grown = new std::uint64_t[words]{};
    std::copy_n(descriptors, descriptor_words, grown);
    delete[] descriptors;
    descriptors = grown;
    descriptor_words = words;
  }
  descriptors[word] = open ? descriptors[word] | bit : descriptors[word] & ~bit;
}

void ForkRegistry::add(ForkWatch& watch) {
  registry.lock();
  watch.next_ = registry.watches;
  if (watch.next_ != nullptr) watch.next_->previous_ = &watch;
  registry.watches = &watch;
  registry.unlock();
}

void ForkRegistry::remove(ForkWatch& watch) {
  registry.lock();
  if (watch.next_ != nullptr) watch.next_->previous_ = watch.previous_;
  (watch.previous_ != nullptr ? watch.previous_->next_ : registry.watches) = watch.next_;
  registry.unlock();
}

absl::Status forked_error(const std::string& what) {
  return make_error(Errc::kForked, absl::StrCat("this ", what,
                                                " belongs to the process that forked this one: "
                                                "open another one here"));
}

ForkWatch::ForkWatch(const std::string& what, void* object, void (*on_child)(void*) noexcept)
    : error_(forked_error(what)), object_(object), on_child_(on_child) {
  ForkRegistry::add(*this);
}

ForkWatch::~ForkWatch() {
  ForkRegistry::remove(*this);
}

void leave_to_parent(void* object) {
  auto* const left = new ForkRegistry::Left{object, nullptr};
  registry.lock();
  left->next = registry.left;
  registry.left = left;
  registry.unlock();
}

ForkHold::ForkHold() {
  registry.lock();
  ++registry.holds;
  registry.unlock();
}

ForkHold::~ForkHold() {
  const int kept = errno;
  registry.lock();
  if (--registry.holds == 0) pthread_cond_broadcast(&registry.held_no_more);
  registry.unlock();
  errno = kept;
}

void enter_descriptor(int fd) {
  if (fd < 0) return;
  registry.lock();
  registry.set_descriptor(fd, true);
  registry.unlock();
}

void forget_descriptor(int fd) {
  if (fd < 0) return;
  registry.lock();
  registry.set_descriptor(fd, false);
  registry.unlock();
}

void close_descriptor(int fd) {
  if (fd < 0) return;
  const ForkHold hold;
  forget_descriptor(fd);
  ::close(fd);
}

}  // namespace lapwing
