import { expect, test } from 'vitest'
import { baselineOf, startsEarly } from '../modes.ts'
import { ALL_LOOPS, LIBRARIES, LOOP_WAYS, loopRun, titleOf, waysOf } from './loops.ts'

test('a loop that streams is measured as it is and eager, and one that does not is measured eager only', () => {
  expect(ALL_LOOPS.map((loop) => waysOf(loop))).toEqual([
    ['streamText', 'streamText, eager'],
    ['streamText, resilient(), eager'],
    ['ToolLoopAgent', 'ToolLoopAgent, eager'],
    ['generateText, eager'],
    ['agent.stream', 'agent.stream, eager'],
    ['agent.invoke, eager'],
    ['agent.stream, model by name', 'agent.stream, model by name, eager'],
    ['run, streamed', 'run, streamed, eager'],
    ['run, eager'],
  ])
  expect(new Set(ALL_LOOPS.map(({ library }) => library))).toEqual(new Set(LIBRARIES))
  expect(titleOf('run, streamed')).toBe('OpenAI Agents run, streamed')
})

test('resilient() is compared with the loop as it is, and starts nothing early', () => {
  expect(baselineOf('streamText, resilient(), eager')).toBe('streamText')
  expect(startsEarly('streamText, resilient(), eager')).toBe(false)
})

test('each way is of one loop, and is compared with that loop as it is', () => {
  for (const way of LOOP_WAYS) {
    const { loop, isEager } = loopRun(way) ?? {}
    expect(isEager ? `${loop?.name}, eager` : loop?.name).toBe(way)
    expect(baselineOf(way)).toBe(loop?.of ?? loop?.name)
    expect(startsEarly(way)).toBe(isEager && loop?.adds === undefined)
  }
  expect(loopRun('eager')).toBeUndefined()
  expect(baselineOf('ai')).toBe('parallel')
})
