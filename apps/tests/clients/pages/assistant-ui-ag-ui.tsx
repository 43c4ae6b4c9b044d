/** A page with assistant-ui and its runtime for AG-UI. */

import { SimpleImageAttachmentAdapter } from '@assistant-ui/react'
import { toAgUiMessages, useAgUiRuntime } from '@assistant-ui/react-ag-ui'
import { useState } from 'react'
import { type Chat, show } from './assistant-ui.tsx'
import { agent } from './thread-agent.ts'

const adapters = {
  attachments: new SimpleImageAttachmentAdapter(),
  // The server has the history: a run without a message gets it, and the running turn.
  history: { load: async () => ({ messages: [], unstable_resume: true }), append: async () => {} },
}

show((): Chat => {
  const [error, setError] = useState<string>()
  const runtime = useAgUiRuntime({ agent: Object(agent), adapters, onError: ({ message }) => setError(message) })
  const questions = runtime.unstable_getPendingInterrupts().flatMap(({ id, reason, metadata, responseSchema }) => {
    return reason === 'tool_call'
      ? []
      : [{ id, payload: Object(metadata).payload, answerSchema: Object(responseSchema) }]
  })
  const give = (interruptId: string, payload: unknown) =>
    void runtime.unstable_submitInterruptResponses([{ interruptId, status: 'resolved', payload }])
  return {
    runtime,
    error,
    shown: toAgUiMessages,
    asking: [{ id: 'asked', role: 'assistant', parts: [], metadata: { status: 'waiting', questions } }],
    give,
    change: ({ approval }) => give(approval?.id ?? '', { approved: true, editedArgs: { to: 'eve' } }),
  }
})
