/** The meaning of parameters whose value is a list without entries. */

/** Names of the parameters whose value is a list without entries. */
export function emptyLists(parameters: Record<string, unknown>): string[] {
  return Object.entries(parameters).flatMap(([name, value]) => (Array.isArray(value) && value.length === 0 ? [name] : []));
}

/** The meaning, by the description of the parameter. */
export function meaningOf(description: string | undefined): string {
  if (description === undefined || description.trim() === "") {
    return "The plan does not describe it: an empty list may mean all, or none. Look at the plan before you confirm.";
  }
  return `The playbook describes it so: “${description.trim()}”.`;
}
