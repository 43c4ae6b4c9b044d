/** A page with assistant-ui and its runtime for the AI SDK. */

import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk'
import { type Chat, show } from './assistant-ui.tsx'
import { useThreadChat } from './use-thread-chat.ts'

show((): Chat => {
  const chat = useThreadChat({ runsTools: false })
  const last = chat.messages.at(-1)
  return {
    runtime: useAISDKRuntime(chat),
    error: chat.error?.message,
    shown: () => chat.messages,
    asking: last ? [last] : [],
    give: chat.give,
    change: ({ approval }) => chat.change(approval?.id ?? ''),
  }
})
