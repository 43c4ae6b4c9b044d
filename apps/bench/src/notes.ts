/** What a reader has to know to read the figures rightly. */

import { count, precise } from './format.ts'
import type { Entry } from './results.ts'
import { LATE } from './runner.ts'
import type { TransportLag } from './transport-lag.ts'

export function notesOf(entries: readonly Entry[], transport: TransportLag | null): readonly string[] {
  if (entries.length === 0) return []
  const measured = new Set(entries.map(({ scenario }) => scenario))
  const level = (['a', 'c'] as const).filter((id) => measured.has(id))
  const unpaced = entries.some(({ cpuUserMs }) => cpuUserMs !== null)
  return [
    'Medians, in milliseconds. × is wall-clock over the physical bound of that very run, taken from the log of the server.',
    ...(entries.some(({ mode }) => mode === 'eager') ? [SAVED, PREDICTED, lag(transport)] : []),
    ...(level.length > 0
      ? [
          `${level.join(' and ')}: tools of equal length after the last argument. Promise.all is already at the bound there, and eager has nothing to save.`,
        ]
      : []),
    ...(entries.some(({ mode }) => mode === 'floor') ? [FLOOR] : []),
    ...(unpaced ? [CPU] : []),
    ...late(entries),
  ]
}

/** Each kind of failure, once per entry: a failed run is shown, never dropped. */
export function failuresOf(entries: readonly Entry[]): readonly string[] {
  return entries
    .filter(({ failed }) => failed.length > 0)
    .map(({ scenario, wire, mode, failed }) => {
      const reasons = [...new Set(failed)].join('; ')
      return `${scenario} ${wire} ${mode}: ${count(failed.length, 'run')} failed: ${reasons}`
    })
}

const SAVED =
  'saved: eager against parallel tools after the stream, median of the differences of runs made in one round.'

const FLOOR =
  'bare loop: no agent, but some lines over the official client that parse each call’s arguments once and start its tool then.'

const PREDICTED =
  'predicted: what the eager runs say themselves (result.savings); off: how far from saved, of the time of the steps with calls, 5 % at the most; over: what eager adds where nothing starts early, 3 % at the most.'

const CPU =
  'd and e come as fast as they go: their bound moves with the client, and CPU time is what counts; CPU is that of eager over that of the bare loop.'

function lag(transport: TransportLag | null): string {
  const way = transport && `; the way alone, from the server to a bare fetch, takes ${precise(transport.p50)}`
  return `lag: last argument byte written by the server → tool entered, over all calls${way ?? ''}.`
}

function late(entries: readonly Entry[]): string[] {
  const runs = entries.reduce((sum, entry) => sum + entry.runs, 0)
  const repeated = entries.reduce((sum, entry) => sum + entry.late.repeated, 0)
  const kept = entries.reduce((sum, entry) => sum + entry.late.kept, 0)
  if (repeated + kept === 0) return []
  const again = repeated > 0 ? `, ${count(repeated, 'other run')} made again for it` : ''
  return [
    `${kept} of ${runs} runs were kept although the server wrote more than ${LATE} ms late${again}.`,
    ...(kept > BUSY * runs ? ['The machine was busy: measure again when it is not.'] : []),
  ]
}

/** More late runs than this share, and the figures say more about the machine than about anything else. */
const BUSY = 0.1
