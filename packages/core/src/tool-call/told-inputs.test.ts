import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type AgentOptions, callsOf, createAgent, type Middleware, type Tool, textOf, tool } from '../index.ts'

/** The texts that the model reads for a call with the input `{ to: 'ada' }`. */
async function toldBy(
  middleware: readonly Middleware[],
  options: Partial<AgentOptions> = {},
  more: Partial<Tool> = {},
) {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string() }),
    execute({ to }) {
      if (to === 'eve') throw new Error('blocked')
      return `paid ${to}`
    },
  })
  // The model answers once more if background work ends after the second request.
  const done = respond(say('Done.'))
  const model = scriptedModel([respond(call('pay', { to: 'ada' })), done, done])
  const agent = createAgent({ model, tools: [{ ...pay, ...more } as Tool], middleware, ...options })
  const { messages, text } = await agent.run('Go')
  expect(messages.flatMap((one) => (one.role === 'assistant' ? callsOf(one) : []))).toMatchObject([
    { input: { to: 'ada' } },
  ])
  const results = messages.filter(({ role }) => role === 'tool')
  return { told: results.map(textOf), output: results[0] && 'output' in results[0] && results[0].output, text }
}

const handing = (input: unknown): Middleware => ({
  name: 'handing',
  wrapToolCall: (call, next) => next({ ...call, input }),
})

test('the result of a call contains the input that ran if a wrap changed it, and its output stays (W5)', async () => {
  const ran = (input: string, rest: string) => [`This call ran with another input: ${input}.\n${rest}`]
  expect(await toldBy([handing({ to: 'bob' })])).toMatchObject({
    told: ran('{"to":"bob"}', 'paid bob'),
    output: 'paid bob',
  })
  expect((await toldBy([handing({ to: 'eve' })])).told).toEqual(ran('{"to":"eve"}', 'blocked'))
  expect((await toldBy([handing({ to: 'bob' })], {}, { background: true })).told).toEqual(
    ran('{"to":"bob"}', '{"callId":"call_1_1","state":"running"}'),
  )
})

test('a result does not contain an input that is equal, that did not run, or that prepareInput made (W5)', async () => {
  expect((await toldBy([handing({ to: 'ada' })])).told).toEqual(['paid ada'])
  expect((await toldBy([handing({ to: 1 })])).told).toEqual([expect.stringMatching(/^invalid input for pay/)])
  expect((await toldBy([], { prepareInput: () => ({ to: 'bob' }) })).told).toEqual(['paid bob'])
})

test('a direct result is the answer for the user, so it does not contain the input that ran (W5, M6)', async () => {
  expect(await toldBy([handing({ to: 'bob' })], {}, { returnDirect: true })).toMatchObject({ text: 'paid bob' })
})

test('of a call that ran again with a repaired input, the result contains the one that ran; a wrap that merges several results writes its own (W5)', async () => {
  const again = (inputs: readonly unknown[], merges: boolean): Middleware => ({
    name: 'again',
    async *wrapToolCall(call, next) {
      const texts: string[] = []
      for (const input of inputs) {
        try {
          const message = yield* next({ ...call, input })
          if (!merges) return message
          texts.push(textOf(message))
        } catch {}
      }
      return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: texts.join(', ') }] }
    },
  })
  expect((await toldBy([again([{ to: 'eve' }, { to: 'bob' }], false)])).told).toEqual([
    'This call ran with another input: {"to":"bob"}.\npaid bob',
  ])
  expect((await toldBy([again([{ to: 'eve' }, { to: 'ada' }], false)])).told).toEqual(['paid ada'])
  expect((await toldBy([again([{ to: 'ada' }, { to: 'bob' }], true)])).told).toEqual(['paid ada, paid bob'])
})

test('of a long input the result contains the beginning and the length (W5)', async () => {
  const { told } = await toldBy([handing({ to: 'x'.repeat(10_000) })])
  expect(told[0]?.length).toBeLessThan(15_000)
  expect(told[0]).toContain('… (10009 characters)')
})
