/** The tools `task_create`, `task_get`, `task_update` and `task_list`. */

import { type Tool, tool } from '@meanwhile/core'
import { inputSchema, listOf, type Member, oneOf, optional, text, whole } from '../input-schema.ts'
import { changed, created, STATUSES, type Task, taskOf, tasksOf } from './task-list.ts'
import type { TaskStore } from './task-store.ts'

const KEYS = ['tasks']

const id: Member<number> = whole('The task’s number.', { minimum: 1 })
const edges = {
  addBlocks: optional(listOf(id, 'Tasks that cannot start before this one is completed.'), []),
  addBlockedBy: optional(listOf(id, 'Tasks that must be completed before this one can start.'), []),
}

export function taskTools(store: TaskStore): Tool[] {
  return [
    tool({
      name: 'task_create',
      description: 'Adds a task to the plan. Use a plan for work with several steps.',
      input: inputSchema({
        subject: text('What to do, in a few words.', { minLength: 1 }),
        description: optional(text('Everything needed to do the task.'), ''),
        ...edges,
      }),
      effect: 'external',
      writes: () => KEYS,
      async execute(input, context) {
        const list = await store.change(context, (before) => created(before, input))
        return taskOf(list, list.next - 1)
      },
    }),
    tool({
      name: 'task_get',
      description: 'Returns a task of the plan with all its details.',
      input: inputSchema({ id }),
      effect: 'read',
      reads: () => KEYS,
      execute: async (input, context) => taskOf(await store.read(context), input.id),
    }),
    tool({
      name: 'task_update',
      description:
        'Changes a task of the plan. Set it to in_progress before you start it, and to completed as soon as it is done; deleted removes it.',
      input: inputSchema({
        id,
        status: optional(oneOf(STATUSES, 'Its new status.')),
        subject: optional(text('Its new subject.', { minLength: 1 })),
        description: optional(text('Its new description.')),
        ...edges,
      }),
      effect: 'external',
      writes: () => KEYS,
      async execute(input, context) {
        const list = await store.change(context, (before) => changed(before, input.id, input))
        return input.status === 'deleted' ? { id: input.id, status: 'deleted' } : taskOf(list, input.id)
      },
    }),
    tool({
      name: 'task_list',
      description: 'Lists the tasks of the plan: number, status, subject, and the open tasks that block it.',
      input: inputSchema({}),
      effect: 'read',
      reads: () => KEYS,
      execute: async (_, context) => tasksOf(await store.read(context)),
      toContent: (tasks) => [{ type: 'text', text: inLines(tasks) }],
    }),
  ]
}

function inLines(tasks: readonly Task[]): string {
  const byId = new Map(tasks.map((task) => [task.id, task]))
  const isOpen = (blocker: number) => byId.get(blocker)?.status !== 'completed'
  const line = ({ id, status, subject, blockedBy }: Task) => {
    const open = blockedBy.filter(isOpen)
    return `${id} [${status}] ${subject}${open.length > 0 ? ` (blocked by ${open.join(', ')})` : ''}`
  }
  return tasks.length > 0 ? tasks.map(line).join('\n') : '(there are no tasks)'
}
