/** A tool that the caller of a run executes: it asks for its result (M15). */

import { described } from '../vocabulary/checked-input.ts'
import { inWords } from '../vocabulary/errors.ts'
import { interrupt } from '../vocabulary/interrupt.ts'
import { asJson } from '../vocabulary/json.ts'
import type { Json, ToolCall } from '../vocabulary/message.ts'
import type { Tool } from '../vocabulary/tool.ts'

/**
 * What the caller has answered, as the tool's `output` schema gives it back.
 *
 * @throws {Interrupt} It has not answered yet; the payload is the call.
 * @throws {TypeError} The schema does not accept the answer, which it did when the run was resumed: the model reads so.
 */
export async function answerOf(
  tool: Tool,
  { type, id, name, input }: ToolCall,
  answers: readonly Json[],
): Promise<unknown> {
  const answer = answers.at(-1)
  if (answer === undefined) throw interrupt({ type, id, name, input: asJson(input, 'the input') })
  if (!tool.output) return answer
  const checked = await tool.output['~standard'].validate(answer)
  if (!checked.issues) return checked.value
  throw new TypeError(
    `the answer given for ${tool.name} does not fit its output: ${inWords(checked.issues.map(described))}`,
  )
}
