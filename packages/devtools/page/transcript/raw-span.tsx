/** The attributes of a span, as they were sent. */

import { useEffect, useState } from 'preact/hooks'
import { counted } from '../../src/geometry/words.ts'
import type { Span } from '../../src/span.ts'
import { CopyButton } from '../copy-button.tsx'
import { get } from '../runs.ts'
import { clipped, visible } from '../visible.ts'

const MOST_CHARACTERS = 300

export function RawSpan({ traceId, spanId }: { readonly traceId: string; readonly spanId: string }) {
  const [span, setSpan] = useState<Span>()
  useEffect(() => {
    let isCurrent = true
    void get<Span>(`/api/spans/${traceId}/${spanId}`).then((loaded) => isCurrent && setSpan(loaded))
    return () => {
      isCurrent = false
    }
  }, [traceId, spanId])
  if (!span) return null
  const attributes = Object.entries(span.attributes)
  return (
    <details class="raw">
      <summary>{counted(attributes.length, 'attribute')}</summary>
      <CopyButton text={JSON.stringify(span, null, 2)} />
      <table>
        <tbody>
          {attributes.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{visible(name)}</th>
              <td>
                {visible(clipped(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), MOST_CHARACTERS))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
