package io.kvasir.app.neighbours;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a node beside those of the one that was asked.
 *
 * @param differing how many have another value, or are on one of the two nodes only
 * @param differences the first of them
 */
record SettingsComparison(int differing, List<Difference> differences) {
  private static final int SHOWN = 50;
  private static final String MASK = "\"***\"";

  /**
   * A setting that differs.
   *
   * @param own its value on the node that was asked, as JSON, null when it has none
   * @param other its value on the other node
   */
  record Difference(String path, @Nullable String own, @Nullable String other) {}

  /**
   * Compares what {@link SettingsCodec} wrote.
   *
   * @return null when one of the two nodes had too many settings to tell them
   */
  static @Nullable SettingsComparison of(byte[] here, byte[] there) throws IOException {
    if (here.length == 0 || there.length == 0) {
      return null;
    }
    SequencedMap<String, String> ours = SettingsCodec.read(here);
    SequencedMap<String, String> theirs = SettingsCodec.read(there);
    TreeSet<String> paths = new TreeSet<>(ours.keySet());
    paths.addAll(theirs.keySet());
    List<Difference> differences = new ArrayList<>();
    int differing = 0;
    for (String path : paths) {
      String own = ours.get(path);
      String other = theirs.get(path);
      if (!Objects.equals(own, other) && ++differing <= SHOWN) {
        differences.add(new Difference(path, shown(own), shown(other)));
      }
    }
    return new SettingsComparison(differing, differences);
  }

  private static @Nullable String shown(@Nullable String value) {
    return value != null && SettingsCodec.isSecret(value) ? MASK : value;
  }
}
