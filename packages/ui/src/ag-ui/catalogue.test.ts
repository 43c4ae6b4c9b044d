import Anthropic from '@anthropic-ai/sdk'
import { respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Model } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { type Quirk, quirkResponse, quirks } from '@meanwhile/harness/quirks'
import { retryModel } from '@meanwhile/middleware'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import { everyNth, ofEachKind } from '@meanwhile/tests/size'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import OpenAI from 'openai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Client, comparable, serve } from '../../test/ag-ui.ts'
import { agUiHandler, toAgUiMessages } from './index.ts'

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation((...words) => expect.unreachable(words.join(' ')))
})

afterEach(() => void vi.restoreAllMocks())

function modelOf({ wire }: Quirk, fetch: typeof globalThis.fetch): Model {
  const options = { apiKey: 'none', fetch, maxRetries: 0 }
  if (wire === 'anthropic') return anthropic({ client: new Anthropic(options), model: 'm', idleTimeout: 100 })
  const api = wire === 'openai-chat' ? 'chat' : 'responses'
  return openai({ client: new OpenAI(options), model: 'm', api, idleTimeout: 100 })
}

/** In small runs every sixth quirk on each wire: the tests of the adapters read all of them. */
const forms = everyNth(
  ofEachKind(quirks, ({ id, wire }) => `${id} ${wire}`),
  6,
)

test.for(forms)('on $wire: $title; the client has the messages of the thread (q$id, UI2, UI5)', async (quirk) => {
  const mock = mockModels({
    script: [quirkResponse(quirk), respond(say('Done.')), respond(say('Hello.'))],
    // A part with thinking (qC26) goes back to Mistral, which has other ids than the other quirks.
    rules: { except: ['chat/part-type'] },
  })
  const middleware = [retryModel({ maxRetries: 1, baseDelay: 0 })]
  const agent = createAgent({ model: modelOf(quirk, mock.fetch), middleware })
  const threads = createThreads({ agent, store: memoryThreads() })
  const stage = await serve(agUiHandler({ threads, open: () => undefined }))
  try {
    const client = new Client(`${stage.url}/api/ag-ui`, 't')
    expect((await client.say('Go')).at(-1)).toMatch(/RUN_(FINISHED|ERROR)/)
    const inThread = comparable([...toAgUiMessages(await threads.read('t'))])
    expect(client.messages).toEqual(inThread)
    const late = new Client(`${stage.url}/api/ag-ui`, 't')
    await late.run()
    expect(late.messages).toEqual(inThread)
    // The client has exactly the thread's messages, so the next run needs no snapshot.
    const types = await client.say('Hello')
    expect(types.slice(0, types.indexOf('STEP_STARTED'))).toEqual(['RUN_STARTED'])
  } finally {
    await stage.close()
  }
})
