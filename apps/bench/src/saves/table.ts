/** The table of the saves of a step, with its limits. */

import { styleText } from 'node:util'
import { bareTable } from '../bare-table.ts'
import { type Bar, barText, worstOf } from '../bars.ts'
import { milliseconds } from '../format.ts'
import type { Block } from './measure-blocks.ts'
import { COUNTS, EFFECTS, STORES, type StepCost } from './measure-saves.ts'

/** How often a step may be saved, however many calls it has. */
export const SAVES_LIMIT = 40

/** How much more CPU time each of 1,000 calls may take than each of 100. */
export const GROWTH_LIMIT = 2

/** How many milliseconds of CPU time one turn of the event loop may take. */
export const BLOCK_LIMIT = 20

export function savesBars(costs: readonly StepCost[], blocks: readonly Block[] = []): readonly Bar[] {
  const whereOf = ({ store, effect, calls }: StepCost) => `${store}, ${calls} ${effect}`
  const growths = costs.flatMap((cost) => {
    const { store, effect, calls, cpuMs } = cost
    const tenth = costs.find((one) => one.store === store && one.effect === effect && one.calls === calls / 10)
    return calls === 1_000 && tenth
      ? [{ value: cpuMs / calls / (tenth.cpuMs / tenth.calls), where: whereOf(cost) }]
      : []
  })
  const saves = { title: `a step is saved at most ${SAVES_LIMIT} times`, limit: SAVES_LIMIT }
  const growth = {
    title: `each of 1,000 calls takes at most ${GROWTH_LIMIT} × the CPU time of each of 100`,
    limit: GROWTH_LIMIT,
  }
  return [
    ...worstOf(
      saves,
      costs.map((cost) => ({ value: cost.saves, where: whereOf(cost) })),
    ),
    ...worstOf(growth, growths),
    ...worstOf(
      { title: `1,000 calls hold the event loop at most ${BLOCK_LIMIT} ms`, limit: BLOCK_LIMIT },
      blocks.map(({ title, ms }) => ({ value: ms, where: `a run ${title}` })),
    ),
  ]
}

export function savesTable(costs: readonly StepCost[], blocks: readonly Block[] = []): string {
  const columns = [
    { head: '', width: 26 },
    ...COUNTS.map((calls) => ({ head: `${calls.toLocaleString('en')} calls`, width: 22 })),
  ]
  const rows = STORES.flatMap((store) =>
    EFFECTS.map((effect) => [
      `   ${store}, ${effect}`,
      ...COUNTS.map((calls) => {
        const cost = costs.find((one) => one.store === store && one.effect === effect && one.calls === calls)
        return cost ? `${cost.saves} saves, ${milliseconds(cost.cpuMs)} ms` : '–'
      }),
    ]),
  )
  const bars = savesBars(costs, blocks).map((bar) => styleText(bar.met ? 'green' : 'red', barText(bar)))
  const notes = [
    'The calls of one step, of a tool that answers at once. Saves: the maximum of the runs. Time: CPU of this process for the whole run, the median.',
    ...(costs.some(({ store }) => store === 'PostgreSQL') ? [] : ['PostgreSQL is not installed.']),
  ]
  return [
    '',
    `${styleText('bold', 'The saves of a step')}`,
    bareTable(columns, rows),
    '',
    ...bars,
    ...notes.map((note) => styleText('dim', note)),
    '',
  ].join('\n')
}
