/** Finds the calls whose results a request contains: this identifies the requests of one conversation. */

import type { WireName } from '@meanwhile/harness/server'
import { z } from 'zod'

const CHAT = z.object({ messages: z.array(z.unknown()) })
const CHAT_RESULT = z.object({ role: z.literal('tool'), tool_call_id: z.string() })
const RESPONSES = z.object({ input: z.array(z.unknown()) })
const RESPONSES_RESULT = z.object({ type: z.literal('function_call_output'), call_id: z.string() })
const MESSAGES = z.object({ messages: z.array(z.object({ content: z.unknown() })) })
const MESSAGES_RESULT = z.object({ type: z.literal('tool_result'), tool_use_id: z.string() })

/** Their ids, in the order of the request's body. */
export function answeredCalls(wire: WireName, body: unknown): readonly string[] {
  if (wire === 'openai-chat') {
    return those(CHAT_RESULT, CHAT.safeParse(body).data?.messages).map((result) => result.tool_call_id)
  }
  if (wire === 'openai-responses') {
    return those(RESPONSES_RESULT, RESPONSES.safeParse(body).data?.input).map((result) => result.call_id)
  }
  const contents = MESSAGES.safeParse(body).data?.messages.flatMap(({ content }) => content)
  return those(MESSAGES_RESULT, contents).map((result) => result.tool_use_id)
}

function those<Schema extends z.ZodType>(schema: Schema, items: readonly unknown[] = []): readonly z.infer<Schema>[] {
  return items.flatMap((item) => {
    const { data } = schema.safeParse(item)
    return data === undefined ? [] : [data]
  })
}
