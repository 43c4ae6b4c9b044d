/** The limits for drop-ins, and whether the results meet them. */

import { type Bar, worstOf } from '../bars.ts'
import { CPU_LIMIT } from './cpu.ts'
import type { DropIns } from './measure-drop-ins.ts'

/** The share of the plain loop's lost time that must be recovered, by scenario. */
export const WON_BACK_LEAST = { b: 0.85, f: 0.9 } as const

export function dropInBars({ rows, cpu }: Pick<DropIns, 'rows' | 'cpu'>): readonly Bar[] {
  const wonBack = Object.entries(WON_BACK_LEAST).flatMap(([id, limit]) => {
    const values = rows.flatMap(({ scenario, loop, wire, wonBack }) =>
      scenario === id && wonBack !== null ? [{ value: wonBack, where: `${loop}, ${wire}` }] : [],
    )
    return worstOf({ title: `of the time lost in ${id} at least ${limit} won back`, limit, atLeast: true }, values)
  })
  const [worst] = cpu.toSorted((a, b) => b.ratio.median / b.limit - a.ratio.median / a.limit)
  const title = `CPU at most ${CPU_LIMIT} × the plain loop’s, or within the spread of that`
  return [
    ...wonBack,
    ...(worst
      ? worstOf({ title, limit: worst.limit }, [{ value: worst.ratio.median, where: `${worst.loop}, ${worst.wire}` }])
      : []),
  ]
}
