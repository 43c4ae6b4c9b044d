/**
 * The tasks of a plan as plain data, and the changes to it. Each dependency is stored once, so both directions always
 * agree.
 */

import { BrandedError, isRecord } from '@meanwhile/core/calls'

export const STATUSES = ['pending', 'in_progress', 'completed', 'deleted'] as const

/** The status of a task. */
export type TaskStatus = Exclude<(typeof STATUSES)[number], 'deleted'>

export interface StoredTask {
  /** From 1, in the order in which tasks were added. */
  readonly id: number
  /** What to do, in a few words. */
  readonly subject: string
  /** What to do, in full. */
  readonly description: string
  /** Whether the work has begun or is completed. */
  readonly status: TaskStatus
  /** Ids of the tasks that must be completed first. */
  readonly blockedBy: readonly number[]
}

/** Sorted by id. `next` is the id of the next task, greater than all ids ever used. */
export interface TaskList {
  readonly next: number
  readonly tasks: readonly StoredTask[]
}

/** A task as the tools return it. */
export interface Task extends StoredTask {
  /** Ids of the tasks that wait for this one. */
  readonly blocks: readonly number[]
}

/** The changes of a tool call. Adding an existing dependency changes nothing. */
export interface TaskChange {
  readonly subject?: string | undefined
  readonly description?: string | undefined
  readonly status?: (typeof STATUSES)[number] | undefined
  readonly addBlocks: readonly number[]
  readonly addBlockedBy: readonly number[]
}

/** The requested change is impossible; nothing was changed. */
export class TaskError extends BrandedError {
  static override readonly brand: string = 'TaskError'
  readonly task: number

  constructor(task: number, problem: string) {
    super(`task ${task} ${problem}`)
    this.task = task
  }
}

const NOT_THERE = 'does not exist, or was deleted'

export const NO_TASKS: TaskList = { next: 1, tasks: [] }

/**
 * Returns the list with a new task.
 *
 * @throws {TaskError} As in {@link changed}.
 */
export function created({ next, tasks }: TaskList, change: TaskChange & { readonly subject: string }): TaskList {
  const task: StoredTask = { id: next, subject: change.subject, description: '', status: 'pending', blockedBy: [] }
  return changed({ next: next + 1, tasks: [...tasks, task] }, next, change)
}

/** @throws {TaskError} A task does not exist, would wait for itself, or is started while another one blocks it. */
export function changed(list: TaskList, id: number, change: TaskChange): TaskList {
  const { addBlocks, addBlockedBy } = change
  const byId = new Map(list.tasks.map((task) => [task.id, task]))
  for (const known of [id, ...addBlocks, ...addBlockedBy]) {
    if (!byId.has(known)) throw new TaskError(known, NOT_THERE)
  }
  if (change.status === 'deleted') return without(list, id)
  const { subject, description, status } = change
  const task = byId.get(id) as StoredTask
  byId.set(id, {
    ...blocked(task, addBlockedBy),
    ...(subject !== undefined && { subject }),
    ...(description !== undefined && { description }),
    ...(status && { status }),
  })
  for (const other of addBlocks) byId.set(other, blocked(byId.get(other) as StoredTask, [id]))
  for (const touched of [id, ...addBlocks]) check(byId, touched)
  return { ...list, tasks: [...byId.values()] }
}

export function tasksOf({ tasks }: TaskList): Task[] {
  const blocks = new Map<number, number[]>(tasks.map(({ id }) => [id, []]))
  for (const { id, blockedBy } of tasks) for (const blocker of blockedBy) blocks.get(blocker)?.push(id)
  return tasks.map((task) => ({ ...task, blocks: blocks.get(task.id) ?? [] }))
}

/** @throws {TaskError} It does not exist. */
export function taskOf(list: TaskList, id: number): Task {
  const task = tasksOf(list).find((one) => one.id === id)
  if (!task) throw new TaskError(id, NOT_THERE)
  return task
}

export function isTaskList(value: unknown): value is TaskList {
  return isRecord(value) && isId(value.next) && Array.isArray(value.tasks) && value.tasks.every(isTask)
}

function isTask(value: unknown): boolean {
  if (!isRecord(value) || !isId(value.id)) return false
  const { subject, description, status, blockedBy } = value
  const isStatus = status === 'pending' || status === 'in_progress' || status === 'completed'
  const isText = typeof subject === 'string' && typeof description === 'string'
  return isStatus && isText && Array.isArray(blockedBy) && blockedBy.every(isId)
}

function isId(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0
}

function blocked(task: StoredTask, by: readonly number[]): StoredTask {
  return { ...task, blockedBy: [...new Set([...task.blockedBy, ...by])].sort((a, b) => a - b) }
}

/** A deleted task blocks nothing. */
function without({ next, tasks }: TaskList, id: number): TaskList {
  const left = tasks.filter((task) => task.id !== id)
  return {
    next,
    tasks: left.map((task) => ({ ...task, blockedBy: task.blockedBy.filter((blocker) => blocker !== id) })),
  }
}

function check(byId: ReadonlyMap<number, StoredTask>, id: number): void {
  const { status, blockedBy } = byId.get(id) as StoredTask
  const open = blockedBy.filter((blocker) => byId.get(blocker)?.status !== 'completed')
  if (status !== 'pending' && open.length > 0)
    throw new TaskError(id, `cannot be ${status}: it is blocked by ${open.join(', ')}`)
  const seen = new Set<number>()
  const toSee = [...blockedBy]
  for (let blocker = toSee.pop(); blocker !== undefined; blocker = toSee.pop()) {
    if (blocker === id) throw new TaskError(id, 'would wait for itself')
    if (seen.has(blocker)) continue
    seen.add(blocker)
    toSee.push(...(byId.get(blocker)?.blockedBy ?? []))
  }
}
