import { respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { type Quirk, quirkResponse, quirks } from '@meanwhile/harness/quirks'
import { everyNth, ofEachKind } from '@meanwhile/tests/size'
import { createThreads, memoryThreads, type ThreadEvent } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { collected, fromList } from '../../test/collected.ts'
import { compared } from '../../test/page.ts'
import { peers } from '../../test/peers.ts'
import { modelOn } from '../../test/wires.ts'
import { toUIMessageStream, toUIMessages } from './index.ts'

/** An agent whose first response is this quirk, with all tools that it names. */
function threadsOf(quirk: Quirk) {
  let asked = 0
  const mock = mockModels({ script: () => (asked++ === 0 ? quirkResponse(quirk) : respond(say('Done.'))) })
  const names = new Set(quirk.expected.calls?.map(({ name }) => name).filter(Boolean))
  const tools = [...names].map((name) =>
    tool({ name, description: name, input: z.looseObject({}), effect: 'read', execute: (input) => ({ input }) }),
  )
  const model = modelOn(quirk.wire, mock.fetch, quirk.ending ? 20 : 1_000)
  return createThreads({ agent: createAgent({ model, tools: tools as Tool[] }), store: memoryThreads() })
}

/** In small runs every sixth quirk on each wire: the tests of the adapters read all of them. */
const forms = everyNth(
  ofEachKind(quirks, ({ id, wire }) => `${id} ${wire}`),
  6,
)

test.for(forms)('on $wire: $title, and a browser has the messages of the thread (UI2, UI5, q$id)', async (quirk) => {
  const threads = threadsOf(quirk)
  const turn = await threads.send('t', 'Go')
  const live: ThreadEvent[] = []
  for await (const event of turn.events()) live.push(event)
  const replayed: ThreadEvent[] = []
  for await (const event of turn.events()) replayed.push(event)
  const state = await threads.read('t')
  for (const { version, read } of peers) {
    const [, answer] = toUIMessages(state, { version })
    for (const events of [live, replayed]) {
      // Version 6 cannot remove what it has shown.
      const stream = toUIMessageStream(fromList(events), { version, ...(version === 6 && { hold: true }) })
      const message = await read(await collected(stream))
      expect(compared(message ? [message] : [])).toEqual(compared(answer ? [answer] : []))
    }
    await read(await collected(toUIMessageStream(fromList(live), { version })))
  }
})
