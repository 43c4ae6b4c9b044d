/** The notes about other libraries, measured or not. */

import type { PeerState } from './install.ts'

export function peerNotes(states: readonly PeerState[]): readonly string[] {
  const measured = states.filter(({ problem }) => problem === undefined)
  return [
    ...(measured.length > 0 ? NOTES : []),
    ...measured.flatMap(({ name, notOn }) =>
      notOn.length > 0 ? [`${name}: not on ${notOn.join(', ')}: it has no client for that wire.`] : [],
    ),
    ...states.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: not measured: ${problem}`])),
  ]
}

const NOTES: readonly string[] = [
  'Wall-clock, over the lower bound of the same run, and the median lag from the last argument byte to the tool; medians, in milliseconds. Where CPU counts, user time follows the wall-clock.',
  'Each library streams in a separate process, as its documentation shows; ours in the process of the benchmark. The same scripts, server and stand-in tools for all, one after another in turns.',
]
