import type { Agent, AgentResult, Answers, InterruptedResult, Json } from '@meanwhile/core'
import { expectTypeOf, test } from 'vitest'
import { type Approval, type ApprovalQuestion, isPendingApproval } from './index.ts'

async function answered(agent: Agent, result: InterruptedResult): Promise<AgentResult> {
  const answers: Record<string, Approval> = {}
  for (const { id, payload } of result.interrupts.filter(isPendingApproval)) {
    expectTypeOf(payload).toEqualTypeOf<ApprovalQuestion>()
    expectTypeOf(payload.input).toEqualTypeOf<Json>()
    answers[id] = payload.tool === 'send' ? { decision: 'deny', reason: 'too late' } : { decision: 'allow' }
    // @ts-expect-error This is not an approval.
    answers[id] = true
  }
  return await agent.resume(result.checkpoint, answers).result
}

test('the questions and answers of approve are typed (P17)', () => {
  expectTypeOf(answered).returns.resolves.toEqualTypeOf<AgentResult>()
  expectTypeOf<Record<string, Approval>>().toExtend<Answers>()
})
