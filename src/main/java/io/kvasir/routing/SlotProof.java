package io.kvasir.routing;

import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigValue;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Checks the data flow of a profile: every slot that is read must have exactly one writer, which runs earlier. Plugins
 * run by stage, and within a stage in the order in which the profile lists them.
 */
final class SlotProof {
  /** The slots that every decision reads to book load. */
  private static final List<Slot<?>> ALWAYS_READ = List.of(Slots.PROMPT_TOKENS, Slots.CHAIN);

  private final PluginRegistry plugins;
  private final FaultSite site;
  private final ConfigObject profile;
  private final List<Mention> mentions;
  private final Map<Slot<?>, Integer> writers = new LinkedHashMap<>();

  SlotProof(PluginRegistry plugins, FaultSite site, ConfigObject profile, List<Mention> mentions) {
    this.plugins = plugins;
    this.site = site;
    this.profile = profile;
    this.mentions = mentions.stream().sorted(Comparator.comparing(Mention::stage)).toList();
  }

  void check() {
    findWriters();
    for (Slot<?> slot : ALWAYS_READ) {
      if (!writers.containsKey(slot)) {
        site.fault(
            profile.getOrDefault(Stage.PREPARE.key(), profile),
            "nothing fills slot \"" + slot + "\", which every decision reads to book load",
            "add " + String.join(" or ", plugins.writersOf(slot)) + " to \"" + Stage.PREPARE.key() + "\"");
      }
    }
    for (int reader = 0; reader < mentions.size(); reader++) {
      for (Slot<?> slot : sorted(mentions.get(reader).plugin.reads())) {
        if (!slot.equals(Slots.FACTS)) {
          checkRead(reader, slot);
        }
        checkTransfer(mentions.get(reader), slot);
      }
    }
  }

  private void findWriters() {
    for (int i = 0; i < mentions.size(); i++) {
      Mention mention = mentions.get(i);
      for (Slot<?> slot : sorted(mention.plugin.writes())) {
        Integer first = writers.putIfAbsent(slot, i);
        if (first != null) {
          mention.site(site).fault(
              mention.at,
              "fills slot \"" + slot + "\", which \"" + mentions.get(first).name + "\" fills already",
              "keep one of the two");
        }
      }
    }
  }

  private void checkRead(int reader, Slot<?> slot) {
    Mention mention = mentions.get(reader);
    Integer writer = writers.get(slot);
    if (writer == null) {
      if (!ALWAYS_READ.contains(slot)) {
        mention.site(site).fault(mention.at, "reads slot \"" + slot + "\", which nothing fills", fillers(slot));
      }
      return;
    }
    if (writer < reader) {
      return;
    }
    Mention lateWriter = mentions.get(writer);
    List<String> cycle = path(writer, reader, new LinkedHashSet<>());
    if (cycle != null) {
      mention.site(site).fault(
          mention.at,
          "reads slot \"" + slot + "\", which in the end depends on itself: " + mention.name + " needs "
              + String.join(", which needs ", cycle),
          "remove or replace one of them");
    } else if (lateWriter.stage == mention.stage) {
      mention.site(site).fault(
          mention.at,
          "reads slot \"" + slot + "\", which \"" + lateWriter.name + "\" fills only after it",
          "list \"" + lateWriter.name + "\" before \"" + mention.name + "\"");
    } else {
      mention.site(site).fault(
          mention.at,
          "reads slot \"" + slot + "\", which \"" + lateWriter.name + "\" fills in a later stage (\""
              + lateWriter.stage.key()
              + "\")",
          "use one that needs no such slot, or fill it earlier");
    }
  }

  /** Reports a slot that preparers fill where a request arrives and that is not transferred to the cell's home. */
  private void checkTransfer(Mention reader, Slot<?> slot) {
    Integer writer = writers.get(slot);
    boolean filledOnArrival =
        slot.equals(Slots.FACTS) || (writer != null && mentions.get(writer).stage == Stage.PREPARE);
    boolean transferred = slot.isTransferable() || slot.equals(Slots.PARTNER);
    if (filledOnArrival && reader.stage != Stage.PREPARE && !transferred) {
      reader.site(site).fault(
          reader.at,
          "reads slot \"" + slot + "\", which stays on the node where the request arrived",
          "add a preparer that puts the needed part into a slot of type String, Long or Chain");
    }
  }

  /** Names of the plugins on the dependency path between two mentions, null when there is none. */
  private @Nullable List<String> path(int from, int to, SequencedSet<Integer> visited) {
    if (from == to) {
      List<String> names = new ArrayList<>();
      names.add(mentions.get(to).name);
      return names;
    }
    if (!visited.add(from)) {
      return null;
    }
    for (Slot<?> slot : sorted(mentions.get(from).plugin.reads())) {
      Integer writer = writers.get(slot);
      List<String> rest = writer == null ? null : path(writer, to, visited);
      if (rest != null) {
        rest.addFirst(mentions.get(from).name);
        return rest;
      }
    }
    return null;
  }

  private String fillers(Slot<?> slot) {
    List<String> names = plugins.writersOf(slot);
    return names.isEmpty()
        ? "remove it: there is no plugin that fills the slot"
        : "add " + String.join(" or ", names) + " before it";
  }

  private static List<Slot<?>> sorted(Set<Slot<?>> slots) {
    List<Slot<?>> sorted = new ArrayList<>(slots);
    sorted.sort(Comparator.comparing(Slot::name));
    return sorted;
  }

  /** A plugin and the place in the profile that mentions it. */
  record Mention(String name, Stage stage, ConfigValue at, Plugin plugin) {
    FaultSite site(FaultSite profile) {
      return profile.forPlugin(name);
    }
  }
}
