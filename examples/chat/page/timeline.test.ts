import { isValidElement } from 'react'
import { expect, test } from 'vitest'
import { Timeline } from './timeline.tsx'

/** The keys in each list of elements. */
function keysIn(node: unknown): readonly (readonly unknown[])[] {
  if (Array.isArray(node)) return [node.flatMap((one) => one?.key ?? []), ...node.flatMap(keysIn)]
  return isValidElement<{ readonly children?: unknown }>(node) ? keysIn(node.props.children) : []
}

test('what stands in the picture of a turn has different keys, also calls with one id, and what is at the same time (UI2)', () => {
  const call = { id: 'call_1', tool: 'look', ready: 0, start: 0, end: 40 }
  const restart = { at: 40, why: 'restart' } as const
  const times = {
    early: true,
    began: 0,
    state: 'ended',
    steps: [
      { at: 0, first: 0, end: 0, isFailed: true, calls: [call] },
      { at: 0, first: 0, end: 40, calls: [call] },
      { at: 40, end: 80, calls: [call] },
    ],
    breaks: [restart, restart],
  } as const
  for (const state of ['live', 'cut', 'done'] as const)
    for (const keys of keysIn(Timeline({ times, state }))) expect(keys).toEqual([...new Set(keys)])
})
