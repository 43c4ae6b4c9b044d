/** The hatches of the timeline. */

export const REST = 'url(#rest)'
export const HELD = 'url(#held)'
export const SAVED = 'url(#saved)'

/** Once on the page. */
export function Patterns() {
  return (
    <defs>
      <Hatch id="rest" size={5} width={1.6} />
      <Hatch id="held" size={5} width={1.1} />
      <Hatch id="saved" size={7} width={1} />
    </defs>
  )
}

function Hatch({ id, size, width }: { readonly id: string; readonly size: number; readonly width: number }) {
  return (
    <pattern id={id} width={size} height={size} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width={width} height={size} class={`hatch-${id}`} />
    </pattern>
  )
}
