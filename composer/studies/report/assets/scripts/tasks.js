// Studies of several tasks: a figure shows the arms of one task at a time, because results of different tasks are not comparable.

/** Whether an arm, by its place in the table, is of a task. */
function ofTask(content, index, task) {
  return (content.arms[index]?.task ?? task) === task;
}

/** The best arm of an arm's task. */
function bestOf(content, arm) {
  return content.arms.find((each) => each.task === arm.task);
}

/** The list that chooses the task of a figure; null where there is one task. */
function taskChoice(content, choose) {
  const options = content.tasks.map((label, place) => ({ value: String(place), label }));
  return options.length < 2 ? null : select("Task", options, "0", (value) => choose(Number(value)));
}

/** The arms that are drawn at first: those of the first task. */
function shownAtFirst(content) {
  return new Set(content.arms.map((_, index) => index).filter((index) => ofTask(content, index, 0)).slice(0, SHOWN));
}
