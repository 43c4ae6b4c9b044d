/**
 * LangChain's chat models over a mocked endpoint. `npm run test:versions` runs the tests of these with Anthropic's of
 * `apps/tests/versions/chat-models.ts`.
 */

import { ChatOpenAI } from '@langchain/openai'
import { initChatModel } from 'langchain'

export interface ChatModelCase {
  readonly name: string
  /** When the call `put` of the tests is sealed, if the response is streamed in blocks; not tested without. */
  readonly sealed?: number
  model(fetch: typeof globalThis.fetch): object | string | Promise<object>
}

const baseURL = 'http://models.test/v1'

const openai = (fetch: typeof globalThis.fetch, useResponsesApi: boolean) =>
  new ChatOpenAI({ apiKey: 'none', model: 'gpt', useResponsesApi, configuration: { baseURL, fetch } })

export const chatModels: readonly ChatModelCase[] = [
  { name: 'chat', sealed: 200, model: (fetch) => openai(fetch, false) },
  { name: 'responses', sealed: 100, model: (fetch) => openai(fetch, true) },
  { name: 'responses, with a config', model: (fetch) => openai(fetch, true).withConfig({ tags: ['mine'] }) },
  { name: 'responses, by a name', model: () => 'openai:gpt' },
  { name: 'responses, by initChatModel', model: () => initChatModel('openai:gpt', { useResponsesApi: true }) },
]
