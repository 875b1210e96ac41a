package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import java.util.List;

/** A check for one kind of fault. Stateless. */
public abstract class Check {
  private final String name;
  private final String question;

  Check(String name, String question) {
    this.name = name;
    this.question = question;
  }

  /** Its name in findings, such as {@code block-size}. */
  public final String name() {
    return name;
  }

  /** What it asks; nothing is found where the answer is yes. */
  public final String question() {
    return question;
  }

  /** The faults it finds. */
  public final List<Finding> findings(Examination examination) {
    FindingCollector found = new FindingCollector(name);
    examine(examination, found);
    return found.list();
  }

  abstract void examine(Examination examination, FindingCollector found);
}
