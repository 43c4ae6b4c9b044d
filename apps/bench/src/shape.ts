/** Describes a user's scenario in a few words. */

import { count } from './format.ts'
import type { Scenario } from './scenario.ts'
import { range } from './stats.ts'

/** `2 turns with calls: search 400 ms (read) × 3, refund 800 ms (external)` */
export function shapeOf(tools: Scenario['tools'], turns: Scenario['turns']): string {
  const calls = turns.flat()
  const each = tools.flatMap(({ name, effect }) => {
    const durations = calls.filter(({ tool }) => tool === name).map(({ toolMs }) => toolMs)
    const [least, most] = range(durations) ?? []
    if (least === undefined || most === undefined) return []
    const time = least === most ? `${least} ms` : `${least} to ${most} ms`
    return [`${name} ${time} (${effect})${durations.length > 1 ? ` × ${durations.length}` : ''}`]
  })
  const asking = turns.filter((turn) => turn.length > 0).length
  return each.length === 0 ? 'no calls' : `${count(asking, 'turn')} with calls: ${each.join(', ')}`
}
