package io.kvasir.sim.settings;

import java.util.ArrayList;
import java.util.List;

/** The faults found in settings, one plain sentence each that begins with the option's name. Not thread-safe. */
final class SettingFaults {
  private final List<String> faults = new ArrayList<>();

  void add(String fault) {
    faults.add(fault);
  }

  void addAll(List<String> others) {
    faults.addAll(others);
  }

  /** Adds a fault unless {@code count} ports from {@code port} on exist; 0 stands for free ones. */
  void checkPort(String option, int port, int count) {
    if (port < 0 || port > 65_536 - count) {
      add(option + ": must be 0 to " + (65_536 - count) + ", is " + port);
    }
  }

  void checkAtLeast(String option, int value, int least) {
    if (value < least) {
      add(option + ": must be at least " + least + ", is " + value);
    }
  }

  List<String> list() {
    return List.copyOf(faults);
  }
}
