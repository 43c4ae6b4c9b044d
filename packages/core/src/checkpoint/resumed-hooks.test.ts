import { call, end, respond, say } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { played, settled } from '../../test/played-runs.ts'
import { answersTo, textsOf } from '../../test/results.ts'
import { travelAgent } from '../../test/travel-agent.ts'
import { type Checkpoint, interrupt, type Middleware, memoryStore, tool } from '../index.ts'

const { did, worker, book, agentOf, interrupted } = travelAgent()

test('the gate of a resumed step receives how the model’s answer had ended (L8, E1)', async () => {
  const reasons: unknown[] = []
  const asking: Middleware = {
    name: 'asking',
    beforeFinalAnswer: ({ finishReason }, run) => {
      reasons.push(finishReason)
      if (run.answers.length === 0) throw interrupt('good enough?')
    },
  }
  const direct = worker('direct', 'read', { returnDirect: true })
  const responses = [respond(call('direct'), end({ finishReason: 'stop' }))]
  const { agent } = agentOf(responses, { tools: [direct], middleware: [asking] })
  const { result } = await played(agent.stream('Go'))
  const stored = JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint
  const last = await played(agent.resume(stored, answersTo(result)))
  expect(reasons).toEqual(['stop', 'stop'])
  expect(last.result).toMatchObject({ stopReason: 'return-direct', finishReason: 'stop' })
})

test('the set-up is made again for a resume, and changes by beforeAgent apply (C6)', async () => {
  const { result, checkpoint } = await interrupted({ tools: [], middleware: [adding] })
  const { agent, model } = agentOf([respond(say('Done'))], { tools: [], middleware: [adding] })
  await played(agent.resume(checkpoint, answersTo(result)))
  expect(model.requests).toMatchObject([{ instructions: 'Be brief.', tools: [{ name: 'book' }] }])
  expect(did.filter((word) => word === 'beforeAgent')).toHaveLength(2)
})

const adding: Middleware = {
  name: 'adding',
  beforeAgent: (setup) => {
    did.push('beforeAgent')
    return { ...setup, instructions: 'Be brief.', tools: [book] }
  },
}

test('a stop in beforeAgent of a resumed run keeps its calls, answers and questions (H27, L8)', async () => {
  let asks = false
  const asking: Middleware = {
    name: 'asking',
    beforeAgent: (_, run) => {
      if (asks && run.answers.length === 0) throw interrupt('who are you?')
    },
  }
  const checkpoints = memoryStore()
  const { agent } = agentOf([respond(call('send'), call('book'), call('book', { n: 2 })), respond(say('Done'))], {
    checkpoints,
    middleware: [asking],
  })
  const first = await played(agent.stream('Go'))
  const [one = '', two = ''] = first.result.interrupts?.map(({ id }) => id) ?? []
  asks = true
  const second = await played(agent.resume(first.checkpoint?.runId ?? '', { [one]: 1 }))
  expect(second.result.interrupts).toMatchObject([{ id: two }, { payload: 'who are you?' }])
  const [, who = ''] = second.result.interrupts?.map(({ id }) => id) ?? []
  const third = await played(agent.resume(second.checkpoint?.runId ?? '', { [who]: 'me', [two]: 2 }))
  expect(did).toEqual(['send 1', 'book 1 []', 'book 1 []', 'book 2 [1]', 'book 2 [2]'])
  expect(textsOf(third.result)).toEqual(['Go', 'send done', 'booked: 1', 'booked: 2', 'Done'])
})

test('a cancel before a resumed run has read its calls keeps them (H27, K15)', async () => {
  const { agent } = agentOf([respond(call('send'), call('book'))], {})
  const first = await played(agent.stream('Go'))
  const slow: Middleware = { name: 'slow', beforeAgent: () => sleep(100) }
  const other = agentOf([respond(say('Done'))], { middleware: [slow] })
  const run = other.agent.resume(first.checkpoint as Checkpoint, answersTo(first.result))
  await vi.advanceTimersByTimeAsync(10)
  void run.cancel()
  const { result } = await settled(run)
  expect(result?.status).toBe('cancelled')
  const last = agentOf([respond(say('Done'))])
  const done = await played(last.agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual(['send 1', 'book 1 []', 'book 2 ["yes"]'])
  expect(textsOf(done.result)).toEqual(['Go', 'send done', 'booked: yes', 'Done'])
})

test('an answer that the gate has judged is not judged again, and one it has replaced stays replaced (L11, E7)', async () => {
  const gate: Middleware[] = [
    {
      name: 'first',
      beforeFinalAnswer: ({ messages }) => {
        const last = messages.at(-1)
        did.push('first')
        if (last?.role !== 'assistant') return
        return { accept: true, message: { ...last, content: [{ type: 'text', text: 'Better' }] } }
      },
    },
    {
      name: 'second',
      beforeFinalAnswer: (state, run) => {
        did.push(`second ${JSON.stringify(state.messages.at(-1)?.content)}`)
        if (run.answers.length === 0) throw interrupt('good?')
        return run.answers[0] === 'yes' ? undefined : { accept: false, feedback: 'No.' }
      },
    },
  ]
  const { agent, model } = agentOf([respond(say('Hm')), respond(say('Hm'))], { middleware: gate })
  const first = await played(agent.stream('Go'))
  const second = await played(agent.resume(first.checkpoint as Checkpoint, answersTo(first.result, 'no')))
  expect(second.result.status).toBe('interrupted')
  const third = await played(agent.resume(second.checkpoint as Checkpoint, answersTo(second.result)))
  const better = 'second [{"type":"text","text":"Better"}]'
  expect(did).toEqual(['first', better, better, 'first', better, better])
  expect(textsOf(third.result)).toEqual(['Go', 'Better', 'No.', 'Better'])
  expect(third.result).toMatchObject({ text: 'Better', steps: 2 })
  expect(model.requests).toHaveLength(2)
})

test('a direct result of a step that asked is the answer, also when the gate asks about it (L3, M7, E9)', async () => {
  const direct = tool({ ...worker('direct', 'read'), returnDirect: (output) => output === 'direct done' })
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: (_, run) => {
      if (run.answers.length === 0) throw interrupt('good?')
    },
  }
  const { agent, model } = agentOf([respond(call('direct'), call('book'))], {
    tools: [direct, book],
    middleware: [gate],
  })
  let { result } = await played(agent.stream('Go'))
  for (const _ of [1, 2]) {
    expect(result.status).toBe('interrupted')
    ;({ result } = await played(agent.resume(result.checkpoint as Checkpoint, answersTo(result))))
  }
  expect(result).toMatchObject({ status: 'completed', stopReason: 'return-direct', text: 'direct done' })
  expect(did).toEqual(['direct 1', 'book 1 []', 'book 2 ["yes"]'])
  expect(model.requests).toHaveLength(1)
})
