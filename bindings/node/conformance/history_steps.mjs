import { History } from 'lapwing';
import { digestOf, Handles } from './step.mjs';
import { itemLine, batchOf } from './subscriber_steps.mjs';

const histories = new Handles();
const views = new Handles();

export const historySteps = {
  'history.open': async (step) => histories.put(step, await History.open(step.text('directory'))),
  'history.inspect': (step) => {
    const info = histories.of(step).inspect();
    return `ok record_bytes=${info.recordBytes} schema=${info.schemaName} oldest=${info.oldest} ` +
      `archived=${info.archived} durable=${info.durable}`;
  },
  'history.read': async (step) =>
    itemLine(await histories.of(step).read(step.bigint('first', 0n), batchOf(step.number('rows')))),
  'history.find-time': async (step) =>
    `ok sequence=${await histories.of(step).findTime(step.bigint('value', 0n))}`,
  'history.map': (step) => {
    const view = histories.of(step).map(step.bigint('first', 0n), step.bigint('last', 0n));
    views.put(step, view);
    return `ok first=${view.first} count=${view.count} row_bytes=${view.rowBytes} ` +
      `digest=${digestOf(view.copyRows())}`;
  },
  'history.unmap': (step) => views.destroy(step, (view) => view.unmap()),
  'history.destroy': (step) => histories.destroy(step),
};
