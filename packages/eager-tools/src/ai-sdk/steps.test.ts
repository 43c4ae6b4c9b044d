import { expect, test } from 'vitest'
import { EagerLoop } from '../host/eager-loop.ts'
import { nextStep } from '../host/host-calls.ts'
import type { HostTool } from '../host/host-tool.ts'
import type { StepEnd } from './sdk.ts'
import { Steps } from './steps.ts'

const tools: readonly HostTool[] = [{ name: 'look', early: { effect: 'read', start: () => 'ok' } }]

/** A run of the AI SDK whose first step has begun and requests its model. */
function begun(loop: EagerLoop, steps: Steps, callId: string, before: readonly StepEnd[] = []) {
  const [messages, promptMessages]: [never[], object] = [[], {}]
  const step = steps.prepare({
    steps: before,
    messages,
    toolsContext: {},
    sandbox: undefined,
    options: {},
    isWhole: false,
  })
  steps.began({ callId, messages, promptMessages })
  steps.requests(step, promptMessages)
  step.calls = nextStep(loop, step.run, { tools })
  return step
}

test('a run whose end is not reported is forgotten when a thousand others have begun (R7)', () => {
  const loop = new EagerLoop({}, 'ai 7')
  const steps = new Steps(loop)
  const first = begun(loop, steps, 'first')
  for (let n = 1; n < 1_000; n++) begun(loop, steps, `${n}`)
  expect(first.calls?.stage).toBe('streaming')
  begun(loop, steps, 'last')
  expect(first.calls?.stage).toBe('over')
})

test('two runs with one id do not end each other’s steps (W46)', () => {
  const loop = new EagerLoop({}, 'ai 7')
  const steps = new Steps(loop)
  const made: StepEnd[] = []
  const [one, other] = [begun(loop, steps, 'same', made), begun(loop, steps, 'same')]
  steps.ended({ callId: 'same' })
  expect([one.calls?.stage, other.calls?.stage]).toEqual(['streaming', 'streaming'])
  steps.over({ callId: 'same', steps: made })
  expect([one.calls?.stage, other.calls?.stage]).toEqual(['over', 'streaming'])
  steps.ended({ callId: 'same' })
  expect(other.calls?.stage).toBe('over')
})

test('a run that fails ends itself, and no other run with its id (W46)', () => {
  const loop = new EagerLoop({}, 'ai 7')
  const steps = new Steps(loop)
  const [one, other] = [begun(loop, steps, 'same'), begun(loop, steps, 'same')]
  // The SDK reports the error with a copy of the steps.
  steps.over({ callId: 'same', steps: [], messages: other.messages })
  expect([one.calls?.stage, other.calls?.stage]).toEqual(['streaming', 'over'])
})

test('runs with one id are forgotten like others when a thousand have begun (R7)', () => {
  const loop = new EagerLoop({}, 'ai 7')
  const steps = new Steps(loop)
  const runs = Array.from({ length: 1_001 }, () => begun(loop, steps, 'same'))
  expect(runs.map(({ calls }) => calls?.stage)).toEqual(['over', ...Array(1_000).fill('streaming')])
})

test('a step ends when the next one of its run is prepared, even if its end is not reported (W48)', () => {
  const loop = new EagerLoop({}, 'ai 7')
  const steps = new Steps(loop)
  const made: StepEnd[] = []
  const first = begun(loop, steps, 'one', made)
  begun(loop, steps, 'one', made)
  expect(first.calls?.stage).toBe('over')
})
