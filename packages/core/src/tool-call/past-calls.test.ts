import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createAgent, type Json, type Middleware, type Tool, textOf, tool } from '../index.ts'
import { hash } from '../vocabulary/hash.ts'

test('a call with the id of a call of an earlier step gets the result of that call only if their inputs are equal, not if the hashes of these are (W51)', async () => {
  // Found in eight seconds.
  const [one, other] = [{ n: '1ct78m927hm' }, { n: 'kcb82fnoao' }]
  expect(hash(JSON.stringify(one))).toBe(hash(JSON.stringify(other)))
  const ran: unknown[] = []
  const look = tool({
    name: 'look',
    description: 'l',
    input: z.object({ n: z.string() }),
    effect: 'read',
    execute({ n }) {
      ran.push(n)
      return n
    },
  })
  const results: unknown[] = []
  const asks: Middleware = {
    name: 'asks',
    async afterModel(_, run) {
      if (run.step !== 2) return
      const again = (input: Json) => run.callTool({ type: 'tool-call', id: 'same', name: 'look', input })
      results.push(textOf(await again(one)))
      await again(other).catch((error: Error) => results.push(error.name))
    },
  }
  const model = scriptedModel([respond(call('look', one, { id: 'same' })), respond(say('Done'))])
  await createAgent({ model, tools: [look as Tool], middleware: [asks] }).run('Go')
  expect([results, ran]).toEqual([[one.n, 'ToolDiscardedError'], [one.n]])
})
