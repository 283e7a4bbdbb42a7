import { Consumer, Duplex, Listener, LapwingError, Producer } from 'lapwing';
import { bit, digestOf, given, Handles, recordOf } from './step.mjs';

const MISUSE = 29;
const NO_SUCH_CALL = 2n ** 64n - 1n;

const listeners = new Handles();
const channels = new Handles();
const started = []; // clients' calls, in the order in which they were started
const served = new Map(); // calls that servers received, by their names in the scenario

function optionsOf(step) {
  return given({
    capacity: step.number('capacity'),
    messageBytesMax: step.number('message_bytes_max'),
    callWindow: step.number('call_window'),
    lateReplies: step.isOn('late_replies'),
    timeout: step.timeout,
  });
}

const CLASSES = { producer: Producer, consumer: Consumer, duplex: Duplex };

/** Returns the channel if its class has the method. Otherwise throws misuse, as C does. */
function channelWith(step, method) {
  const channel = channels.of(step);
  if (typeof channel[method] !== 'function') {
    throw new LapwingError(MISUSE, `a ${channel.constructor.name} has no ${method}`);
  }
  return channel;
}

const messageOf = (step, n = step.bigint('n', 0n)) =>
  ({ type: step.number('type', 0), payload: recordOf(n, step.number('bytes', 0)) });

function messagesOf(step) {
  const from = step.bigint('n', 0n);
  return Array.from({ length: step.number('count', 1) }, (_, index) => messageOf(step, from + BigInt(index)));
}

const messageText = ({ type, payload }) => `${type}:${payload.length}:${digestOf(payload)}`;
const callOf = (step) => started[step.number('call') - 1] ?? NO_SUCH_CALL;

export const channelSteps = {
  'listener.open': (step) => listeners.put(step, Listener.open(step.text('path'))),
  'listener.take-over': async (step) =>
    listeners.put(step, await Listener.takeOver(step.text('path'), step.wait)),
  'listener.accept': async (step) =>
    channels.put(step, await listeners.of(step).accept(step.text('role'), optionsOf(step))),
  'listener.tend': (step) => {
    listeners.of(step).tend();
    return 'ok';
  },
  'listener.interrupt': (step) => {
    listeners.of(step).interrupt();
    return 'ok';
  },
  'listener.destroy': (step) => listeners.destroy(step),

  'channel.connect': async (step) =>
    channels.put(step, await CLASSES[step.text('role')].connect(step.text('path'), optionsOf(step))),
  'channel.write': async (step) => {
    const { type, payload } = messageOf(step);
    const claim = await channelWith(step, 'claim').claim(step.number('claim', payload.length), step.wait);
    if (claim.payload.length >= payload.length) claim.payload.set(payload);
    claim.commit(type, payload.length);
    return 'ok';
  },
  'channel.abort': async (step) => {
    (await channelWith(step, 'claim').claim(step.number('bytes'), step.wait)).abort();
    return 'ok';
  },
  'channel.send': async (step) => {
    try {
      return `ok sent=${await channelWith(step, 'send').send(messagesOf(step), step.wait)}`;
    } catch (error) {
      throw Object.assign(error, { more: ` sent=${error.sent ?? 0}` });
    }
  },
  'channel.drain': async (step) => {
    await channelWith(step, 'drain').drain(step.wait);
    return 'ok';
  },
  'channel.peek': async (step) => {
    const messages = await channelWith(step, 'peek').peek(step.number('max'), step.wait);
    return `ok count=${messages.length} messages=${messages.map(messageText).join(',')}`;
  },
  'channel.release': (step) => {
    channelWith(step, 'release').release(step.number('count'));
    return 'ok';
  },
  'channel.start': async (step) => {
    const call = await channelWith(step, 'start').start(messageOf(step), step.wait);
    return `ok call=${started.push(call)}`;
  },
  'channel.finish': async (step) => {
    const duplex = channelWith(step, 'finish');
    const isOne = step.number('call', 0) !== 0;
    const reply = await (isOne ? duplex.finish(callOf(step)) : duplex.finishAny(step.wait));
    return `ok call=${started.indexOf(reply.call) + 1} error=${bit(reply.error)} ` +
      `late=${bit(reply.isLate)} code=${reply.error?.code ?? 0} type=${reply.type} ` +
      `bytes=${reply.payload.length} digest=${digestOf(reply.payload)}`;
  },
  'channel.cancel': async (step) => {
    await channelWith(step, 'cancel').cancel(callOf(step));
    return 'ok';
  },
  'channel.next': async (step) => {
    const request = await channelWith(step, 'next').next(step.wait);
    served.set(step.text('as'), request.call);
    return `ok call=${bit(request.call !== 0n)} type=${request.type} ` +
      `bytes=${request.payload.length} digest=${digestOf(request.payload)}`;
  },
  'channel.reply': async (step) => {
    const duplex = channelWith(step, 'reply');
    const call = served.get(step.text('call')) ?? 0n;
    if (step.has('error')) {
      await duplex.replyError(call, step.number('error'), step.text('text') ?? '', step.wait);
    } else {
      await duplex.reply(call, messageOf(step), step.wait);
    }
    return 'ok';
  },
  'channel.arm': (step) => `ok armed=${bit(channels.of(step).arm(step.number('bytes', 0)))}`,
  'channel.inspect': (step) => {
    const info = channels.of(step).inspect();
    return `ok role=${info.role} message_bytes_max=${info.messageBytesMax} sent=${info.sent} ` +
      `received=${info.received} released=${info.released} late=${info.lateReplies}`;
  },
  'channel.interrupt': (step) => {
    channels.of(step).interrupt();
    return 'ok';
  },
  'channel.close': (step) => {
    channels.of(step).close();
    return 'ok';
  },
  'channel.destroy': (step) => channels.destroy(step),
};
