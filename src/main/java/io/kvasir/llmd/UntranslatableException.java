package io.kvasir.llmd;

import java.io.Serial;
import java.util.Comparator;
import java.util.List;

/** An EndpointPickerConfig, or the picker's arguments, cannot be translated; carries every reason. */
public final class UntranslatableException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  private final transient List<Fault> faults;

  UntranslatableException(List<Fault> faults) {
    super(faults.size() + " parts cannot be translated");
    this.faults = faults.stream().distinct().sorted(Comparator.comparingInt(Fault::line)).toList();
  }

  /** The reasons, by line. */
  public List<Fault> faults() {
    return faults;
  }
}
