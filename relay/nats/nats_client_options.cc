#include "relay/nats/nats_client_options.h"

#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lapwing/error.h"
#include "os/printable.h"
#include "os/small_file.h"
#include "os/system_error.h"
#include "relay/nats/jetstream.h"
#include "relay/nats/nkey.h"

namespace lapwing {
namespace {

constexpr int kBufferBytes = 512 * 1024;  // a message of any size is read and written at once
constexpr std::size_t kKeyFileBytesMax = 64 * 1024;

std::vector<std::string> split_urls(const std::string& urls) {
  return absl::StrSplit(urls, ',', absl::SkipWhitespace());
}

absl::Status option_error(natsStatus status, const char* what, const std::string& value) {
  const char* const detail = nats_GetLastError(nullptr);
  return make_error(
      status == NATS_SSL_ERROR ? Errc::kRefused : Errc::kInvalidArgument,
      absl::StrCat(what, " ", printable(value), ": ",
                   detail != nullptr && *detail != '\0' ? detail : natsStatus_GetText(status)));
}

// A file that only its owner, this user, may read.
absl::Status check_key_file(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0)
    return make_system_error(errno, absl::StrCat("opening ", path));
  if (!S_ISREG(info.st_mode)) {
    return make_error(Errc::kInvalidArgument, absl::StrCat(path, " is not a regular file"));
  }
  if (info.st_uid != ::geteuid() || (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return make_error(Errc::kNotPermitted,
                      absl::StrCat(path,
                                   " contains a key and must belong to this user, with mode "
                                   "0600. Run: chmod 600 ",
                                   path));
  }
  return absl::OkStatus();
}

absl::Status check_readable(const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return make_system_error(errno, absl::StrCat("opening ", path));
}

absl::Status use_nkey(natsOptions* client, const std::string& path) {
  if (absl::Status status = check_key_file(path); !status.ok()) return status;
  absl::StatusOr<std::string> text = read_small_file(path, kKeyFileBytesMax);
  if (!text.ok()) return text.status();
  const absl::StatusOr<std::string> key = nkey_public_key(find_nkey_seed(*text));
  OPENSSL_cleanse(text->data(), text->size());
  if (!key.ok())
    return make_error(errc_of(key.status()), absl::StrCat(path, " is ", key.status().message()));
  const natsStatus status = natsOptions_SetNKeyFromSeed(client, key->c_str(), path.c_str());
  return status == NATS_OK ? absl::OkStatus() : option_error(status, "NKey", path);
}

absl::Status use_credentials(natsOptions* client, const NatsOptions& options) {
  if (!options.credentials_path.empty() && !options.nkey_path.empty()) {
    return make_error(Errc::kInvalidArgument,
                      "credentials and an NKey are given. Give one of them.");
  }
  if (!options.credentials_path.empty()) {
    const std::string& path = options.credentials_path;
    if (absl::Status status = check_key_file(path); !status.ok()) return status;
    const natsStatus status =
        natsOptions_SetUserCredentialsFromFiles(client, path.c_str(), nullptr);
    if (status != NATS_OK) return option_error(status, "credentials", path);
  }
  return options.nkey_path.empty() ? absl::OkStatus() : use_nkey(client, options.nkey_path);
}

absl::Status use_tls(natsOptions* client, const NatsOptions& options) {
  const std::string& certificate = options.tls_certificate_path;
  const std::string& key = options.tls_key_path;
  if (certificate.empty() != key.empty()) {
    return make_error(Errc::kInvalidArgument,
                      "a TLS certificate needs its key, and a key its certificate. Give both.");
  }
  const bool wanted = absl::StrContains(options.urls, "tls://") || !options.tls_ca_path.empty() ||
                      !certificate.empty();
  if (!wanted) return absl::OkStatus();
  if (!options.tls_ca_path.empty()) {
    const std::string& path = options.tls_ca_path;
    if (absl::Status status = check_readable(path); !status.ok()) return status;
    const natsStatus status = natsOptions_LoadCATrustedCertificates(client, path.c_str());
    if (status != NATS_OK) return option_error(status, "TLS certificates to trust", path);
  }
  if (!certificate.empty()) {
    if (absl::Status status = check_readable(certificate); !status.ok()) return status;
    if (absl::Status status = check_key_file(key); !status.ok()) return status;
    const natsStatus status =
        natsOptions_LoadCertificatesChain(client, certificate.c_str(), key.c_str());
    if (status != NATS_OK) return option_error(status, "TLS certificate", certificate);
  }
  const natsStatus status = natsOptions_SetSecure(client, true);
  return status == NATS_OK ? absl::OkStatus() : option_error(status, "TLS with", options.urls);
}

absl::Status use_servers(natsOptions* client, const NatsOptions& options) {
  const std::vector<std::string> urls = split_urls(options.urls);
  std::vector<const char*> servers;
  for (const std::string& url : urls) servers.push_back(url.c_str());
  const natsStatus status =
      natsOptions_SetServers(client, servers.data(), static_cast<int>(servers.size()));
  return status == NATS_OK ? absl::OkStatus()
                           : option_error(status, "server", shown_urls(options.urls).value_or(""));
}

}  // namespace

absl::StatusOr<std::string> shown_urls(const std::string& urls) {
  std::vector<std::string> shown;
  for (const std::string& url : split_urls(urls)) {
    const std::size_t scheme_end = url.find("://");
    const std::string scheme = url.substr(0, scheme_end);
    std::string host = scheme_end == std::string::npos ? url : url.substr(scheme_end + 3);
    // Behind the user and the password, which no message contains.
    if (const std::size_t at = host.rfind('@'); at != std::string::npos) host.erase(0, at + 1);
    // An address of IPv6 is in brackets.
    const std::size_t bracket = host.rfind(']');
    const std::size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
    std::uint64_t port = 1;
    const bool has_port = colon != std::string::npos;
    const bool port_is_valid =
        !has_port || (parse_number(std::string_view(host).substr(colon + 1), port) && port < 65536);
    if ((scheme != "nats" && scheme != "tls") || host.empty() || colon == 0 || port == 0 ||
        !port_is_valid) {
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("\"", printable(host),
                                     "\" is not the URL of a NATS server. Use nats://HOST:PORT or "
                                     "tls://HOST:PORT."));
    }
    shown.push_back(absl::StrCat(scheme, "://", host));
  }
  if (shown.empty()) {
    return make_error(Errc::kInvalidArgument, "no NATS server is given. Use nats://HOST:PORT.");
  }
  return printable(absl::StrJoin(shown, ","));
}

absl::StatusOr<NatsClientOptions> client_options(const NatsOptions& options, int timeout_ms) {
  natsOptions* made = nullptr;
  natsStatus status = natsOptions_Create(&made);
  if (status != NATS_OK) return option_error(status, "making", "the options of libnats");
  NatsClientOptions client(made);
  const auto then = [&](natsStatus next) { status = status == NATS_OK ? next : status; };
  // For each server; they are tried one after the other.
  const int server_count = static_cast<int>(split_urls(options.urls).size());
  then(natsOptions_SetTimeout(made, std::max(timeout_ms / std::max(server_count, 1), 1)));
  then(natsOptions_SetAllowReconnect(made, false));
  then(natsOptions_SetIgnoreDiscoveredServers(made, true));
  then(natsOptions_SetSendAsap(made, true));
  then(natsOptions_SetNoEcho(made, true));
  then(natsOptions_SetIOBufSize(made, kBufferBytes));
  then(natsOptions_SetPingInterval(made, kNatsPingMs));
  // Libnats would close the socket in the thread of its timers, while another one reads it.
  then(natsOptions_SetMaxPingsOut(made, std::numeric_limits<int>::max()));
  if (!options.client_name.empty()) then(natsOptions_SetName(made, options.client_name.c_str()));
  if (status != NATS_OK) return option_error(status, "setting", "the options of libnats");
  for (const auto use : {use_servers, use_credentials, use_tls}) {
    if (absl::Status used = use(made, options); !used.ok()) return used;
  }
  return client;
}

absl::Status connect_error(natsStatus status, const std::string& where) {
  const char* const last = nats_GetLastError(nullptr);
  const std::string detail =
      printable(last != nullptr && *last != '\0' ? last : natsStatus_GetText(status));
  const std::string what = absl::StrCat("connecting to ", where, ": ");
  switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
      return make_error(Errc::kNotPermitted,
                        absl::StrCat(what, detail, ". Check the credentials or the NKey."));
    case NATS_SSL_ERROR:
    case NATS_SECURE_CONNECTION_WANTED:
    case NATS_SECURE_CONNECTION_REQUIRED:
      return make_error(Errc::kRefused,
                        absl::StrCat(what, detail, ". Check the TLS options and certificates."));
    case NATS_TIMEOUT:
      return make_error(Errc::kTimedOut, absl::StrCat(what, "no answer in time"));
    case NATS_NO_MEMORY:
      return make_error(Errc::kNoMemory, absl::StrCat(what, detail));
    case NATS_PROTOCOL_ERROR:
      return make_error(Errc::kProtocol,
                        absl::StrCat(what, detail, ". Is this the port of a NATS server?"));
    default:
      return make_error(Errc::kPeerGone, absl::StrCat(what, detail));
  }
}

}  // namespace lapwing
