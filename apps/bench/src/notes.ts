/** The notes that explain the figures. */

import type { Entry } from './cell.ts'
import { isPaced } from './comparison.ts'
import type { Environment } from './environment.ts'
import { count, precise } from './format.ts'
import type { Results } from './results.ts'
import { LATE } from './runner.ts'
import { range } from './stats.ts'
import type { TransportLag } from './transport-lag.ts'

/** The circumstances of one benchmark. */
export type Circumstances = Pick<Results, 'transportLagMs' | 'environment' | 'remarks'>

export function notesOf(entries: readonly Entry[], about: Circumstances): readonly string[] {
  if (entries.length === 0) return []
  const measured = new Set(entries.map(({ scenario }) => scenario))
  const level = ['a', 'c'].filter((id) => measured.has(id))
  const isLive = entries.some(({ timing }) => timing === 'live')
  return [
    isLive ? 'Medians, in milliseconds, by the clock of the client.' : MEDIANS,
    ...(entries.some(({ mode }) => mode === 'eager')
      ? [SAVED, ...(isLive ? [] : [PREDICTED, lag(entries, about.transportLagMs)])]
      : []),
    ...(level.length > 0
      ? [
          `${level.join(' and ')}: tools of equal length after the last argument. Promise.all already reaches the bound there, and eager has nothing to save.`,
        ]
      : []),
    ...(entries.some(({ mode }) => mode === 'floor') ? [FLOOR] : []),
    ...(entries.some(({ timing }) => timing === 'at-once') ? [CPU] : []),
    ...late(entries),
    ...(about.remarks ?? []),
    `${runs(entries)} Modes, wires and libraries took turns. ${isLive ? NOT_MEASURED_LIVE : NOT_MEASURED}`,
    ...busy(about.environment),
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

const MEDIANS =
  'Medians, in milliseconds. × is wall-clock over the lower bound of the same run, taken from the log of the server.'

const SAVED =
  'saved: eager against parallel tools after the stream, median of the differences of runs in the same round, followed by the smallest and the largest.'

const FLOOR =
  'bare loop: no agent, but a few lines over the official client that parse each call’s arguments once and then start its tool.'

const PREDICTED =
  'predicted: what the eager runs report themselves (result.savings); off: the difference to saved, of the time of the steps with calls, at most 5 %; over: what eager adds where nothing starts early, at most 3 %.'

const CPU =
  'd and e stream as fast as possible: their bound moves with the client, and CPU time is what counts; CPU is that of eager over that of the bare loop.'

const NOT_MEASURED =
  'Not measured: a network, a provider’s queue, what real tools do to each other, browsers and other versions of Node.'

const NOT_MEASURED_LIVE =
  'Not measured: whether answers are as good, what real tools do to each other, other times of day.'

/** On Chat Completions nothing marks a call as complete, and a bare loop waits for the next call: so only its smallest lag is comparable. */
function lag(entries: readonly Entry[], transport: TransportLag | null): string {
  const way = transport && `; the transport by itself, from the server to a bare fetch, takes ${precise(transport.p50)}`
  const bare = entries
    .filter((entry) => entry.mode === 'floor' && isPaced(entry))
    .flatMap((entry) => entry.dispatchLagMs?.p50 ?? [])
  const [least] = range(bare) ?? []
  const loop = least === undefined ? '' : `; the bare loop’s median is ${precise(least)} where it is smallest`
  return `lag: last argument byte written by the server → tool entered, over all calls${way ?? ''}${loop}.`
}

/** How many runs each has, if all have the same number. */
function runs(entries: readonly Entry[]): string {
  const modes = [...new Set(entries.map(({ mode }) => mode))]
  const texts = modes.map((mode) => {
    const [least, most] = range(entries.filter((entry) => entry.mode === mode).map(({ runs }) => runs)) ?? []
    return `${mode} ${least === most ? most : `${least} to ${most}`}`
  })
  return `Runs that count, in each row: ${texts.join(', ')}.`
}

function late(entries: readonly Entry[]): string[] {
  const sum = (value: (entry: Entry) => number): number => entries.reduce((all, entry) => all + value(entry), 0)
  const [counted, repeated] = [sum(({ runs }) => runs), sum((entry) => entry.late.repeated)]
  const [dropped, kept] = [sum((entry) => entry.late.dropped), sum((entry) => entry.late.kept)]
  if (repeated + dropped + kept === 0) return []
  return [
    `${count(repeated + dropped, 'run')} dropped because the server wrote more than ${LATE} ms late${repeated > 0 ? `, ${repeated} of them repeated` : ''}; ${kept} of the ${counted} that count were late and kept, because no other run was in time.`,
    ...(dropped + kept > BUSY * (counted + dropped) ? ['The machine was busy: measure again when it is not.'] : []),
  ]
}

/** With a larger share of late runs, the figures mainly show the state of the machine. */
const BUSY = 0.1

function busy({ cpu, loadAverage: [before = 0] }: Environment): string[] {
  return before > cpu.count / 2 ? [`The load was ${before} before the first run: something else was running.`] : []
}
