/** LibreChat's agents: the same input as for Mastra, and Chat also at OpenAI's own address. */

import type { PeerRun } from '../../peers/driver.ts'
import { librechat } from '../../peers/drivers/librechat.ts'
import { own } from '../played.ts'
import type { Row } from '../row.ts'
import { calls, callsOn, NONE_RAN, TEST } from './failed-response.ts'

const OPENAI = 'https://api.openai.com'

/** Its requests to OpenAI's address go to the mock: on Chat it trusts only the hosts of OpenAI and Azure to write one call after the other. */
function atOpenAI(run: PeerRun): PeerRun {
  return async (task) => {
    const { fetch } = globalThis
    globalThis.fetch = async (input, init) => {
      const address = input instanceof Request ? input.url : String(input)
      return await fetch(address.replace(OPENAI, task.url), init)
    }
    try {
      return await run({ ...task, url: OPENAI })
    } finally {
      globalThis.fetch = fetch
    }
  }
}

const both = async (run: PeerRun): Promise<string> =>
  `${await calls(run)}; OpenAI Chat at ${new URL(OPENAI).host}: ${await callsOn(atOpenAI(run), 'openai-chat')}`

export const failedResponseOfLibreChat: Row = {
  title: 'The same two calls',
  library: 'LibreChat’s agents',
  thread: { name: 'LibreChat-AI/agents#177', status: '2026-05, merged' },
  note: 'The thread is the change that brought it. Early tools are an option, which is on here. `excludeToolNames` names those that must not start early; with a human in the loop, with hooks that change results and in some more modes none does. npm installs two copies of `@langchain/core` for it, and then nothing starts early on Chat; here it has the one that it asks for.',
  test: TEST,
  trial: {
    folder: 'librechat',
    packages: ['@librechat/agents', '@langchain/core'],
    right: 'ours',
    theirs: async (load) => await both(await librechat(load)),
    ours: async () => await calls(own('external')),
    expected: {
      theirs:
        'OpenAI Chat: no call ran; OpenAI Responses: no call ran; Anthropic Messages: the first call ran; OpenAI Chat at api.openai.com: the first call ran',
      ours: NONE_RAN,
    },
  },
}
