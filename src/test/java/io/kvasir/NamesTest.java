package io.kvasir;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.classfile.Attributes;
import java.lang.classfile.ClassModel;
import java.lang.reflect.AccessFlag;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The names in src/main: one simple name per type, and no private vocabulary. */
final class NamesTest {
  private static final List<ClassModel> HOUSE = MainClasses.files("io.kvasir");

  /** Words that personify threads, sockets and nodes, and words for which the field has others. */
  private static final Set<String> BANNED = Set.of(
      "told", "tell", "tells", "heard", "hear", "hears", "asked", "ask", "asks", "said", "say", "says", "speak",
      "gone", "away", "here", "whoever", "whom", "leg", "legs", "walk", "course", "heir", "apart", "truth", "promise",
      "departure", "departed", "landed", "fly", "seat", "seating", "tally", "trials", "passage", "conductor", "courier",
      "parcel", "prose", "patience", "forbearance", "siblings", "intake", "want", "wants", "wanted");

  /** Names in which such a word is the field's own. */
  private static final Set<String> ALLOWED = Set.of(
      "Values#truth", // Jinja's truth of a value
      "CellsWiring#tell", "ClusterPods#ask", // the actors' own patterns, tell and ask
      // traces call a request to a worker a leg: the attribute kvasir.leg
      "Builder#leg", "LegTrace", "LegTrace#leg", "TracedLeg", "TracedRequest#hasFailedLeg", "TracedRequest#leg",
      "TracedRequest#legs",
      "Gpt2Splitter#numbersApart"); // the regular expression's own alternatives

  @Test
  void simpleNames_areUnique() {
    Map<String, List<String>> types =
        HOUSE.stream()
            .map(type -> type.thisClass().asInternalName())
            .filter(name -> name.indexOf('$') < 0 && !name.endsWith("/package-info"))
            .collect(Collectors.groupingBy(NamesTest::simpleName));
    assertThat(types).hasSizeGreaterThan(1000);
    assertThat(types.values()).filteredOn(same -> same.size() > 1).as("one simple name for two types").isEmpty();
  }

  @Test
  void words_arePublic() {
    Set<String> found = new TreeSet<>();
    for (ClassModel type : HOUSE) {
      names(type).filter(name -> hasBannedWord(name.substring(name.indexOf('#') + 1))).forEach(found::add);
    }
    assertThat(found).as("names with words that nobody would search for").isSubsetOf(ALLOWED);
    assertThat(ALLOWED).as("allowed names that do not exist any more").isSubsetOf(found);
  }

  /** A type's package, its own name, and those of its methods and record components as {@code Type#member}. */
  private static Stream<String> names(ClassModel type) {
    String name = type.thisClass().asInternalName();
    String simple = simpleName(name);
    Stream<String> methods =
        type.methods().stream()
            .filter(method -> !method.flags().has(AccessFlag.SYNTHETIC))
            .map(method -> method.methodName().stringValue())
            .filter(method -> !method.startsWith("<"));
    Stream<String> components =
        type.findAttribute(Attributes.record()).stream()
            .flatMap(record -> record.components().stream())
            .map(component -> component.name().stringValue());
    return Stream.concat(
        Stream.of(simple, name.substring(0, name.lastIndexOf('/')).replace('/', '_')),
        Stream.concat(methods, components).map(member -> simple + "#" + member));
  }

  /** Without its package and the types around it; anonymous ones have none. */
  private static String simpleName(String name) {
    return name.replaceFirst(".*[/$]\\d*", "");
  }

  private static boolean hasBannedWord(String name) {
    return Arrays.stream(name.split("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_$]", -1))
        .anyMatch(word -> BANNED.contains(word.toLowerCase(Locale.ROOT)));
  }
}
