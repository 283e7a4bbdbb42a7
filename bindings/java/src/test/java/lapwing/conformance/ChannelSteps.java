package lapwing.conformance;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import lapwing.Channel;
import lapwing.ChannelInfo;
import lapwing.ChannelOptions;
import lapwing.Consumer;
import lapwing.Duplex;
import lapwing.LapwingException;
import lapwing.Listener;
import lapwing.Message;
import lapwing.Messages;
import lapwing.Producer;
import lapwing.Reply;
import lapwing.Request;

/**
 * Steps with listeners and channels. A step that a kind of channel does not support is misuse in C.
 */
final class ChannelSteps {
  private static final long NO_SUCH_CALL = -1;

  private final Handles handles;
  private final List<Long> calls = new ArrayList<>(); // in the order in which they were started

  private ChannelSteps(Handles handles) {
    this.handles = handles;
  }

  static void add(Map<String, Driver.Operation> operations, Handles handles) {
    var steps = new ChannelSteps(handles);
    operations.put("listener.open", steps::listen);
    operations.put("listener.take-over", steps::takeOver);
    operations.put("listener.accept", steps::accept);
    operations.put("listener.tend", steps::tend);
    operations.put("listener.interrupt", steps::interruptListener);
    operations.put("listener.destroy", step -> handles.close(step, Listener.class));
    operations.put("channel.connect", steps::connect);
    operations.put("channel.write", steps::write);
    operations.put("channel.abort", steps::abort);
    operations.put("channel.send", steps::send);
    operations.put("channel.drain", steps::drain);
    operations.put("channel.peek", steps::peek);
    operations.put("channel.release", steps::release);
    operations.put("channel.start", steps::start);
    operations.put("channel.finish", steps::finish);
    operations.put("channel.cancel", steps::cancel);
    operations.put("channel.next", steps::next);
    operations.put("channel.reply", steps::reply);
    operations.put("channel.arm", steps::arm);
    operations.put("channel.inspect", steps::inspect);
    operations.put("channel.interrupt", steps::interrupt);
    operations.put("channel.close", steps::close);
    operations.put("channel.destroy", step -> handles.close(step, Channel.class));
  }

  private static ChannelOptions options(Step step) {
    ChannelOptions.Builder options = ChannelOptions.builder()
        .lateReplies(step.isSet("late_replies"));
    step.number("capacity", options::capacity);
    step.whole("message_bytes_max", options::messageBytesMax);
    step.whole("call_window", options::callWindow);
    return options.build();
  }

  static ChannelInfo.Role role(Step step) {
    ChannelInfo.Role role = step.choice("role", ChannelInfo.Role.class);
    if (role == null) {
      throw new Step.Unsuited("invalid-argument");
    }
    return role;
  }

  private List<String> listen(Step step) {
    handles.put(step, Listener.open(step.path("path"), options(step)));
    return Driver.ok();
  }

  private List<String> takeOver(Step step) {
    handles.put(step, Listener.takeOver(step.path("path"), options(step), step.timeout()));
    return Driver.ok();
  }

  private List<String> accept(Step step) {
    Listener listener = handles.on(step, Listener.class);
    Channel channel = switch (role(step)) {
      case PRODUCER -> listener.acceptProducer(options(step), step.timeout());
      case CONSUMER -> listener.acceptConsumer(options(step), step.timeout());
      case DUPLEX -> listener.acceptDuplex(options(step), step.timeout());
    };
    if (channel == null) {
      return Driver.nothing(step);
    }
    handles.put(step, channel);
    return Driver.ok();
  }

  private List<String> tend(Step step) {
    handles.on(step, Listener.class).tend();
    return Driver.ok();
  }

  private List<String> interruptListener(Step step) {
    handles.on(step, Listener.class).interrupt();
    return Driver.ok();
  }

  private List<String> connect(Step step) {
    handles.put(step, switch (role(step)) {
      case PRODUCER -> Producer.connect(step.path("path"), options(step), step.timeout());
      case CONSUMER -> Consumer.connect(step.path("path"), options(step), step.timeout());
      case DUPLEX -> Duplex.connect(step.path("path"), options(step), step.timeout());
    });
    return Driver.ok();
  }

  private static byte[] payload(Step step) {
    return TestRows.row(step.number("n"), step.whole("bytes"));
  }

  private List<String> write(Step step) {
    Producer producer = handles.on(step, Producer.class);
    byte[] message = payload(step);
    MemorySegment room = producer.claim(step.number("claim", message.length), step.timeout());
    if (room == null) {
      return Driver.nothing(step);
    }
    if (room.byteSize() >= message.length) {
      room.copyFrom(MemorySegment.ofArray(message));
    }
    producer.commit(message.length, step.whole("type"));
    return Driver.ok();
  }

  private List<String> abort(Step step) {
    Producer producer = handles.on(step, Producer.class);
    if (producer.claim(step.number("bytes"), step.timeout()) == null) {
      return Driver.nothing(step);
    }
    producer.abort();
    return Driver.ok();
  }

  private List<String> send(Step step) {
    List<Message> messages = TestRows.payloads(step).stream()
        .map(payload -> Message.of(step.whole("type"), payload)).toList();
    try {
      switch (handles.find(step, "on", Channel.class)) {
        case Producer producer -> producer.send(messages, step.timeout());
        case Duplex duplex -> duplex.send(messages, step.timeout());
        case null, default -> {
          return List.of("misuse sent=0");
        }
      }
      return Driver.ok("sent=%d", messages.size());
    } catch (LapwingException e) {
      return List.of(Driver.named(e.name()) + " sent=" + e.progress());
    }
  }

  private List<String> drain(Step step) {
    handles.on(step, Producer.class).drain(step.timeout());
    return Driver.ok();
  }

  private List<String> peek(Step step) {
    Messages messages = handles.on(step, Consumer.class).peek(step.whole("max"), step.timeout());
    if (messages.isEmpty()) {
      return Driver.nothing(step);
    }
    return Driver.ok("count=%d messages=%s", messages.size(), messages.stream()
        .map(message -> message.type() + ":" + message.payload().byteSize() + ":"
            + TestRows.digest(message.payload()))
        .collect(Collectors.joining(",")));
  }

  private List<String> release(Step step) {
    handles.on(step, Consumer.class).release(step.number("count"));
    return Driver.ok();
  }

  private List<String> start(Step step) {
    Duplex duplex = handles.on(step, Duplex.class);
    long call = duplex.start(step.whole("type"), MemorySegment.ofArray(payload(step)),
        step.timeout());
    synchronized (calls) {
      calls.add(call);
      return Driver.ok("call=%d", calls.size());
    }
  }

  private long call(Step step) {
    synchronized (calls) {
      long number = step.number("call");
      return number >= 1 && number <= calls.size() ? calls.get((int) number - 1) : NO_SUCH_CALL;
    }
  }

  private List<String> finish(Step step) {
    Duplex duplex = handles.on(step, Duplex.class);
    Reply reply =
        step.isSet("call") ? duplex.finish(call(step)) : duplex.finishAny(step.timeout());
    if (reply == null) {
      return Driver.nothing(step);
    }
    if (reply.result() != lapwing.ErrorCode.OK) {
      return List.of(Driver.named(reply.result().toString()));
    }
    int number;
    synchronized (calls) {
      number = calls.indexOf(reply.call()) + 1;
    }
    return Driver.ok("call=%d error=%d late=%d code=%d type=%d bytes=%d digest=%s", number,
        reply.isError() ? 1 : 0, reply.isLate() ? 1 : 0, reply.code(), reply.type(),
        reply.payload().byteSize(), TestRows.digest(reply.payload()));
  }

  private List<String> cancel(Step step) {
    handles.on(step, Duplex.class).cancel(call(step));
    return Driver.ok();
  }

  private List<String> next(Step step) {
    Request request = handles.on(step, Duplex.class).next(step.timeout());
    if (request == null) {
      return Driver.nothing(step);
    }
    handles.put(step, request);
    return Driver.ok("call=%d type=%d bytes=%d digest=%s", request.isCall() ? 1 : 0,
        request.type(), request.payload().byteSize(), TestRows.digest(request.payload()));
  }

  private List<String> reply(Step step) {
    Duplex duplex = handles.on(step, Duplex.class);
    Request request = handles.named(step, "call", Request.class);
    if (step.has("error")) {
      duplex.replyError(request, step.whole("error"),
          step.has("text") ? step.text("text") : "", step.timeout());
    } else {
      duplex.reply(request, step.whole("type"), payload(step), step.timeout());
    }
    return Driver.ok();
  }

  private List<String> arm(Step step) {
    boolean armed = switch (handles.on(step, Channel.class)) {
      case Producer producer -> producer.armFor(step.number("bytes"));
      case Consumer consumer -> consumer.arm();
      case Duplex duplex -> duplex.arm();
    };
    return Driver.ok("armed=%d", armed ? 1 : 0);
  }

  private List<String> inspect(Step step) {
    ChannelInfo info = handles.on(step, Channel.class).inspect();
    return Driver.ok("role=%s message_bytes_max=%d sent=%d received=%d released=%d late=%d",
        info.role().toString().toLowerCase(java.util.Locale.ROOT), info.messageBytesMax(),
        info.sent(), info.received(), info.released(), info.lateReplies());
  }

  private List<String> interrupt(Step step) {
    handles.on(step, Channel.class).interrupt();
    return Driver.ok();
  }

  private List<String> close(Step step) {
    handles.on(step, Channel.class).end();
    return Driver.ok();
  }
}
