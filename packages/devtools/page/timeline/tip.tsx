/** The card at the pointer. */

import { sentenceOf } from '../../src/geometry/sentences.ts'
import { count, duration } from '../../src/geometry/words.ts'
import type { Call, Response } from '../../src/model/run.ts'
import { Ticked } from '../ticked.tsx'
import { visible } from '../visible.ts'
import type { Pointed } from './bar-props.ts'

const SIZE = { width: 300, height: 120 }

export function Tip({ pointed, now }: { readonly pointed: Pointed; readonly now: number }) {
  const { x, y, row, part } = pointed
  const left = Math.max(0, Math.min(x + 14, innerWidth - SIZE.width))
  const top = Math.max(0, Math.min(y + 16, innerHeight - SIZE.height))
  return (
    <div class="tip" role="tooltip" style={{ left: `${left}px`, top: `${top}px` }}>
      {'call' in part ? <OfCall {...part} row={row} now={now} /> : <OfResponse {...part} now={now} />}
    </div>
  )
}

function OfCall({ call, row, now }: { readonly call: Call; readonly row: Pointed['row']; readonly now: number }) {
  const attempts = call.executions.length > 1 ? ` in ${call.executions.length} attempts` : ''
  return (
    <>
      <b>{visible(call.tool)}</b> <code>{visible(call.effect ?? '')}</code>
      <p>
        <Ticked sentence={sentenceOf(call, row.step, row.run.dialect, now)} />
      </p>
      <p class="dim">
        {duration((call.end ?? now) - call.start)}
        {attempts}
        {call.error !== undefined && ` · ${visible(call.error).slice(0, 200)}`}
      </p>
    </>
  )
}

function OfResponse({ response, now }: { readonly response: Response; readonly now: number }) {
  const { start, first, end, model, usage, error } = response
  return (
    <>
      <b>{visible(model ?? 'model')}</b>
      <p>
        {first !== undefined && `first token after ${duration(first - start)}, `}
        {end === undefined ? `streaming for ${duration(now - start)}` : `done after ${duration(end - start)}`}
      </p>
      <p class="dim">
        {count(usage.input)} read · {count(usage.output)} written
        {error !== undefined && ` · ${visible(error).slice(0, 200)}`}
      </p>
    </>
  )
}
