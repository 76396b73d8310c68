// What every app does at REAL's three paths: `/config` keeps its query, `/finish` shows the end state.
const { app } = document.currentScript.dataset;

export const empty = () => ({ config: { [app]: { task_id: '', run_id: '' } }, notes: [] });

export const reached = (state, search) => {
  const query = Object.fromEntries(new URLSearchParams(search));
  return { ...state, config: { [app]: { ...state.config[app], ...query } } };
};

export const ended = (state) => JSON.stringify({
  initialstate: empty(),
  finalstate: state,
  differences: { notes: { added: state.notes, deleted: [], updated: [] } },
  actionhistory: [],
});
