/** Stores the tasks: in the run, or in a file that several runs share. */

import { type Cell, type Run, runLocal, type ToolContext } from '@meanwhile/core'
import type { FileBackend } from '../file-backend.ts'
import { FileError } from '../file-error.ts'
import { schemaOf } from '../schema-of.ts'
import { isTaskList, NO_TASKS, type TaskList } from './task-list.ts'

export interface TaskStore {
  read(context: ToolContext): Promise<TaskList>
  /**
   * Replaces the list by the result of `change` and returns it. Simultaneous changes run one after another; an error
   * changes nothing.
   */
  change(context: ToolContext, change: (list: TaskList) => TaskList): Promise<TaskList>
}

/** In the run itself, and so in its checkpoints. */
export function runStore(): TaskStore {
  const list = runLocal({ key: 'plan-tasks', schema: schemaOf(isTaskList), initial: NO_TASKS })
  const cellOf = ({ run }: ToolContext): Cell<TaskList> => list(withRun(run))
  return {
    read: async (context) => cellOf(context).value,
    async change(context, change) {
      const cell = cellOf(context)
      cell.value = change(cell.value)
      return cell.value
    },
  }
}

function withRun(run: Run | undefined): Run {
  if (run) return run
  throw new Error('a plan requires a run')
}

const MAX_BYTES = 1_000_000

/**
 * In a file of a backend. If the file was changed meanwhile, it is read again and `change` is applied to the new list.
 */
export function fileStore(backend: FileBackend, path: string): TaskStore {
  async function load({ signal }: ToolContext): Promise<{ readonly list: TaskList; readonly version: string | null }> {
    try {
      const { bytes, version } = await backend.read(path, { maxBytes: MAX_BYTES, signal })
      return { list: parsed(path, bytes), version }
    } catch (error) {
      if (error instanceof FileError && error.code === 'not-found') return { list: NO_TASKS, version: null }
      throw error
    }
  }
  return {
    read: async (context) => (await load(context)).list,
    async change(context, change) {
      const { signal } = context
      for (;;) {
        signal.throwIfAborted()
        const { list, version } = await load(context)
        const next = change(list)
        const bytes = new TextEncoder().encode(JSON.stringify(next))
        if (bytes.length > MAX_BYTES) throw new FileError('too-large', path, 'the plan is too large; delete tasks')
        try {
          await backend.write(path, bytes, { replaces: version, signal })
          return next
        } catch (error) {
          if (!(error instanceof FileError && error.code === 'changed')) throw error
        }
      }
    },
  }
}

function parsed(path: string, bytes: Uint8Array): TaskList {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (isTaskList(value)) return value
  } catch (cause) {
    throw new FileError('failed', path, 'does not contain a valid plan', { cause })
  }
  throw new FileError('failed', path, 'does not contain a valid plan')
}
