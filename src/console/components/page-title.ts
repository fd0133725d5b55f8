import { useEffect } from 'react'

/** The title of the tab; pages inside others name themselves first, as in "Logs · shop-prod". */
export function usePageTitle(...names: readonly string[]): void {
  const title = [...names, 'Longshore'].join(' · ')
  useEffect(() => {
    document.title = title
    return () => {
      document.title = 'Longshore'
    }
  }, [title])
}
