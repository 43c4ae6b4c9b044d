import { WIRE_NAMES } from '@meanwhile/harness/server'
import { expect, test } from 'vitest'
import { runsOf } from '../run-plan.ts'
import { loopOf } from './loops.ts'
import { planOfLoops } from './measure-drop-ins.ts'

test('every loop runs each scenario on its wires in each of its ways by turns, and its own time is that of the first way', () => {
  const loops = [loopOf('generateText'), loopOf('run, streamed')]
  const plan = planOfLoops(loops, { scenarios: ['f'], wires: WIRE_NAMES, runs: runsOf(2) })
  const told = (round: number) =>
    plan
      .filter((job) => job.round === round)
      .map(({ scenario, wire, mode }) => `${scenario.id} ${wire} ${mode}`)
      .sort()
  expect(told(0)).toEqual([
    'f anthropic generateText, eager',
    'f openai-chat generateText, eager',
    'f openai-chat run, streamed',
    'f openai-chat run, streamed, eager',
    'f openai-responses generateText, eager',
    'f openai-responses run, streamed',
    'f openai-responses run, streamed, eager',
    'f-0ms anthropic generateText, eager',
    'f-0ms openai-chat generateText, eager',
    'f-0ms openai-chat run, streamed',
    'f-0ms openai-responses generateText, eager',
    'f-0ms openai-responses run, streamed',
  ])
  expect(told(1)).toEqual(told(0))
  const firsts = [0, 1].map((round) => plan.find((job) => job.round === round && job.scenario.id === 'f')?.mode)
  expect(new Set(firsts).size).toBe(2)
})
