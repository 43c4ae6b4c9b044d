/** What stands in the marks of a picture and next to them. Where there are several, the first that fits stands there. */

import type { PicturedRun } from './figures.ts'

export interface Words {
  /** Over the tools that wait, and over those that do not. */
  readonly usually: readonly string[]
  readonly meanwhile: readonly string[]
  readonly model: readonly string[]
  readonly answer: string
  readonly waits: string
  readonly sooner: string
  readonly slow: (run: PicturedRun) => readonly string[]
  readonly quick: string
  readonly scene: string
}

const COMMON = {
  usually: ['Usually, tools wait for the stream to end', 'Usually, tools wait'],
  meanwhile: ['Meanwhile, they already run', 'Meanwhile, they run'],
  answer: 'answer',
  waits: 'ready, but waits',
  sooner: 'sooner',
} as const

export const WORDS: Readonly<Record<'f' | 'b', Words>> = {
  f: {
    ...COMMON,
    model: ['the model writes six calls', 'the model writes'],
    slow: (run) => [`slow tool, ${duration(run)}`, 'slow tool'],
    quick: 'five quick tools',
    scene: 'One slow tool call and five quick ones.',
  },
  b: {
    ...COMMON,
    model: ['the model writes a call, then text', 'the model writes'],
    slow: (run) => [`tool, ${duration(run)}`, 'tool'],
    quick: '',
    scene: 'One tool call, then text.',
  },
}

function duration({ calls: [slow] }: PicturedRun): string {
  return slow ? `${((slow.settled - slow.entered) / 1_000).toFixed(1)} s` : ''
}
