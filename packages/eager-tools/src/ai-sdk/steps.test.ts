import { expect, test } from 'vitest'
import { EagerLoop } from '../host/eager-loop.ts'
import type { HostTool } from '../host/host-tool.ts'
import { Steps } from './steps.ts'

const tools: readonly HostTool[] = [{ name: 'look', early: { effect: 'read', start: () => 'ok' } }]

/** A run of the AI SDK whose first step has begun. */
function begun(loop: EagerLoop, steps: Steps, callId: string) {
  const messages = {}
  steps.prepared(messages, undefined)
  steps.began({ callId, messages })
  const step = steps.ofMessages(messages)
  if (!step) throw new Error('there is no step')
  step.calls = loop.step(step.run, { tools })
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

test('a request of an unknown run or of a step that was not prepared belongs to no step (R10)', () => {
  const steps = new Steps(new EagerLoop({}, 'ai 7'))
  const [messages, request] = [{}, {}]
  steps.requests({ callId: 'nobody', tools: request })
  steps.began({ callId: 'one', messages })
  steps.requests({ callId: 'one', tools: request })
  expect([steps.ofRequest(request), steps.ofMessages(messages), steps.ofRequest(undefined)]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})
