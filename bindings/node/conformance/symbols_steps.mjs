import { Symbols } from 'lapwing';
import { Handles, notFound } from './step.mjs';

const symbols = new Handles();

const mappingText = ({ symbol, instrumentId, startDate, endDate }) =>
  [symbol, instrumentId, startDate, endDate].join(':');

function found(value) {
  if (value === undefined) throw notFound();
  return value;
}

export const symbolsSteps = {
  'symbols.open': async (step) => symbols.put(step, await Symbols.open(step.text('directory'))),
  'symbols.find': (step) =>
    `ok instrument=${found(symbols.of(step).find(step.text('symbol'), step.bigint('utc_ns', 0n)))}`,
  'symbols.name': (step) =>
    `ok mapping=${mappingText(found(symbols.of(step).name(step.number('instrument'), step.bigint('utc_ns', 0n))))}`,
  'symbols.list': (step) => `ok mappings=${symbols.of(step).list().map(mappingText).join(',')}`,
  'symbols.destroy': (step) => symbols.destroy(step),
};
