/** The plan of the `planTasks` tools, rebuilt from their results. */

import type { ToolMessage } from '@meanwhile/core'

/** A task of a plan, as the tools return it. */
export interface PlanTask {
  /** The id, from 1. */
  readonly id: number
  /** What to do, in a few words. */
  readonly subject: string
  /** What to do, in full. */
  readonly description: string
  /** Whether the work has begun or is completed. */
  readonly status: 'pending' | 'in_progress' | 'completed'
  /** Tasks that must be completed before this one can start. */
  readonly blockedBy: readonly number[]
  /** Tasks that wait for this one. */
  readonly blocks: readonly number[]
}

/** The tasks of `planTasks`, in order. */
export type Plan = readonly PlanTask[]

/** The plan after this result; the same plan if the result is not about a plan. */
export function planAfter(plan: Plan, { name, isError }: ToolMessage, output: unknown): Plan {
  if (isError) return plan
  if (name === 'task_list') return Array.isArray(output) && output.every(isTask) ? output : plan
  if (name === 'task_update' && Object(output).status === 'deleted') return without(plan, Object(output).id)
  if ((name !== 'task_create' && name !== 'task_update') || !isTask(output)) return plan
  // A plan never reuses a number: creating a task with an existing number begins another plan.
  const isAnother = name === 'task_create' && plan.some(({ id }) => id === output.id)
  const others = isAnother ? [] : plan.filter(({ id }) => id !== output.id)
  return [...others.map((task) => beside(task, output)), output].sort((a, b) => a.id - b.id)
}

function without(plan: Plan, id: unknown): Plan {
  const isOther = (other: number) => other !== id
  return plan
    .filter((task) => isOther(task.id))
    .map((task) => ({ ...task, blockedBy: task.blockedBy.filter(isOther), blocks: task.blocks.filter(isOther) }))
}

/** The task, updated with the links of a changed task. */
function beside(task: PlanTask, changed: PlanTask): PlanTask {
  const edges = (ids: readonly number[], isThere: boolean) => [
    ...ids.filter((id) => id !== changed.id),
    ...(isThere ? [changed.id] : []),
  ]
  return {
    ...task,
    blockedBy: edges(task.blockedBy, changed.blocks.includes(task.id)).sort((a, b) => a - b),
    blocks: edges(task.blocks, changed.blockedBy.includes(task.id)).sort((a, b) => a - b),
  }
}

function isTask(value: unknown): value is PlanTask {
  const { id, subject, description, status, blockedBy, blocks } = Object(value)
  const isText = typeof subject === 'string' && typeof description === 'string' && typeof status === 'string'
  return typeof id === 'number' && isText && Array.isArray(blockedBy) && Array.isArray(blocks)
}
