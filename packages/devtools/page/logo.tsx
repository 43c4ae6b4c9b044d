/** A stream with two tools under it. */
export function Logo() {
  return (
    <svg class="logo" width="18" height="14" viewBox="0 0 18 14" aria-hidden="true">
      <rect y="1" width="18" height="4" rx="2" class="ribbon" />
      <rect x="4" y="7" width="8" height="2.5" rx="1.25" class="bar read" />
      <rect x="9" y="11" width="7" height="2.5" rx="1.25" class="bar read" />
    </svg>
  )
}
