/** LibreChat's agents: the same input as for Mastra. */

import { librechat } from '../../peers/drivers/librechat.ts'
import { own } from '../played.ts'
import type { Row } from '../row.ts'
import { calls, NONE_RAN, TEST } from './failed-response.ts'

export const failedResponseOfLibreChat: Row = {
  title: 'The same two calls',
  library: 'LibreChat’s agents',
  thread: { name: 'LibreChat-AI/agents#177', status: '2026-05, merged' },
  note: 'The thread is the change that brought it. Early tools are an option, which is on here; `excludeToolNames` names those that must not start early.',
  test: TEST,
  trial: {
    folder: 'librechat',
    packages: ['@librechat/agents'],
    right: 'ours',
    theirs: async (load) => await calls(await librechat(load)),
    ours: async () => await calls(own('external')),
    expected: {
      theirs: 'OpenAI Chat: no call ran; OpenAI Responses: no call ran; Anthropic Messages: the first call ran',
      ours: NONE_RAN,
    },
  },
}
