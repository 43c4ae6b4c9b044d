/** The runs behind the pictures, and behind the times that README and home page name: the content of `docs/pictures/figures.json`. */

import type { WireName } from '@meanwhile/harness/server'
import type { Cell } from '../cell.ts'
import type { Mode } from '../modes.ts'
import type { Timeline } from '../sample.ts'
import type { ScenarioId } from '../scenarios.ts'

export const PICTURED = ['f', 'b', 'a'] as const satisfies readonly ScenarioId[]

export const PICTURED_MODES = ['sequential', 'parallel', 'eager'] as const satisfies readonly Mode[]

export const PICTURED_WIRE: WireName = 'openai-responses'

const COMMAND = 'npm run bench -- --pictures docs/pictures'

export type PicturedScenario = (typeof PICTURED)[number]

/** One typical run of each way. */
export type Runs = Readonly<Record<(typeof PICTURED_MODES)[number], PicturedRun>>

/** In milliseconds from the start of the run. */
export interface PicturedRun {
  readonly end: number
  readonly streams: readonly { readonly begin: number; readonly end: number }[]
  readonly calls: readonly { readonly argsDone: number; readonly entered: number; readonly settled: number }[]
}

export interface Figures {
  /** What printed them. */
  readonly command: string
  readonly scenarios: Readonly<Record<PicturedScenario, Runs>>
}

/** Pictures must not show the state of a machine. */
export class NoFiguresError extends Error {
  override readonly name = 'NoFiguresError'
}

/** Throws a {@link NoFiguresError} if a run failed, or if the server wrote late in all runs of a way. */
export function figuresOf(cells: readonly Cell[]): Figures {
  const runs = (id: PicturedScenario): Runs => ({
    sequential: typicalRun(cells, id, 'sequential'),
    parallel: typicalRun(cells, id, 'parallel'),
    eager: typicalRun(cells, id, 'eager'),
  })
  return { command: COMMAND, scenarios: { f: runs('f'), b: runs('b'), a: runs('a') } }
}

/** `2.9`: seconds as a text names them. */
export const seconds = ({ end }: PicturedRun): string => (end / 1_000).toFixed(1)

/** `33`: by how many per cent the run is over sooner if tools start early. */
export const soonerBy = ({ parallel, eager }: Runs): number => Math.round((1 - eager.end / parallel.end) * 100)

function typicalRun(cells: readonly Cell[], id: PicturedScenario, mode: Mode): PicturedRun {
  const cell = cells.find(({ entry }) => entry.scenario === id && entry.mode === mode)
  if (!cell?.typical || cell.entry.failed.length > 0) throw new NoFiguresError(`a run of ${id}, ${mode}, failed`)
  if (cell.entry.late.kept > 0)
    throw new NoFiguresError(`in each run of ${id}, ${mode}, the server wrote late: measure again on a quiet machine`)
  return withoutTokens(cell.typical)
}

function withoutTokens({ end, streams, calls }: Timeline): PicturedRun {
  return {
    end: tidy(end),
    streams: streams.map((stream) => ({ begin: tidy(stream.begin), end: tidy(stream.end) })),
    calls: calls.map(({ argsDone, entered, settled }) => ({
      argsDone: tidy(argsDone),
      entered: tidy(entered),
      settled: tidy(settled),
    })),
  }
}

/** A tenth of a millisecond is less than a pixel. */
const tidy = (time: number): number => Number(time.toFixed(1))
