package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.MainClasses;
import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.admission.RefusalReason;
import io.kvasir.cell.view.DecisionReply;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whatever crosses between router nodes, between nodes of two versions: the next one may have fields that this one does
 * not know, and an earlier one may lack some. Messages are found by what the configuration binds to the serializer, so
 * that a new one is here as soon as it exists.
 */
final class WireMessagesTest {
  private static final Config CONFIG =
      ConfigFactory.parseString("pekko.remote.artery.canonical { hostname = \"127.0.0.1\", port = 0 }")
          .withFallback(ConfigFactory.parseResources("platform.conf"))
          .withFallback(ConfigFactory.defaultReference())
          .resolve();
  private static final ActorSystem<Void> SYSTEM = ActorSystem.create(Behaviors.empty(), "kvasir", CONFIG);
  private static final Serialization SERIALIZATION = SerializationExtension.get(SYSTEM);
  private static final ObjectMapper CBOR = new ObjectMapper(new CBORFactory());
  private static final List<Class<?>> MESSAGES = findMessages();

  @AfterAll
  static void stop() {
    SYSTEM.terminate();
  }

  static List<Class<?>> messages() {
    return MESSAGES;
  }

  private static List<Class<?>> findMessages() {
    Config bindings = CONFIG.getConfig("pekko.actor.serialization-bindings");
    Set<String> bound = new LinkedHashSet<>();
    bindings.root().forEach((type, serializer) -> {
      if (type.startsWith("io.kvasir.") && serializer.unwrapped().equals("jackson-cbor")) {
        bound.add(type);
      }
    });
    return Stream.of("access", "cell", "limits", "locations", "app")
        .flatMap(room -> MainClasses.loaded("io.kvasir." + room))
        .filter(type -> !type.isInterface() && isBound(type, bound))
        .toList();
  }

  /** Whether a type, or one of which it is a kind, is bound. */
  private static boolean isBound(@Nullable Class<?> type, Set<String> bound) {
    return type != null
        && (bound.contains(type.getName())
            || isBound(type.getSuperclass(), bound)
            || Stream.of(type.getInterfaces()).anyMatch(parent -> isBound(parent, bound)));
  }

  @Test
  void messages_areFound() {
    assertThat(messages()).hasSizeGreaterThan(15).allMatch(Class::isRecord);
  }

  @ParameterizedTest
  @MethodSource("messages")
  void message_arrivesAsItWasSent(Class<?> type) {
    Object message = example(type);
    assertThat(write(read(write(message), type))).isEqualTo(write(message));
  }

  @ParameterizedTest
  @MethodSource("messages")
  void fieldsOfALaterVersion_areIgnored(Class<?> type) throws Exception {
    Object message = example(type);
    JsonNode sent = CBOR.readTree(write(message));
    records(message, sent).forEach(node -> node.putObject("of-a-later-version").put("n", 1));
    assertThat(write(read(CBOR.writeValueAsBytes(sent), type))).isEqualTo(write(message));
  }

  @ParameterizedTest
  @MethodSource("messages")
  void fieldsThatAnEarlierVersionLacks_areNoFault(Class<?> type) throws Exception {
    Object message = example(type);
    List<Object> parts = new ArrayList<>();
    records(message, CBOR.readTree(write(message)), parts);
    for (int place = 0; place < parts.size(); place++) {
      if (parts.get(place).getClass().getPackageName().equals("io.kvasir.telemetry")) {
        // As the log of decisions has it: that refuses what is not whole.
        continue;
      }
      for (RecordComponent field : parts.get(place).getClass().getRecordComponents()) {
        JsonNode sent = CBOR.readTree(write(message));
        String name = field.getName();
        assertThat(records(message, sent).get(place).remove(name)).as(name).isNotNull();
        byte[] bytes = CBOR.writeValueAsBytes(sent);
        assertThatCode(() -> read(bytes, type)).as("without " + name).doesNotThrowAnyException();
      }
    }
  }

  /** What a node of this version writes, and every later one has to read. */
  @Test
  void notices_asTheyAreWritten() throws Exception {
    Class<?> type = Class.forName("io.kvasir.cell.home.Cell$ReservationEvents");
    assertThat(HexFormat.of().formatHex(write(example(type))))
        .isEqualTo(
            "bf646e6f64656474657874666576656e747381bf6b7265736572766174696f6e1b0000010000000000646b696e6466"
                + "434c4f534544676f7574636f6d65bf646b696e646c4c4f53545f434f4e544143546c70726f6d7074546f6b656e73076c"
                + "636163686564546f6b656e73076c6f7574707574546f6b656e73076a747466744d6963726f731b000001000000000066"
                + "737461747573076664657461696c6474657874ffffff");
  }

  /** The same of requests that are held no longer. */
  @Test
  void holds_asTheyAreWritten() throws Exception {
    Class<?> type = Class.forName("io.kvasir.cell.home.Cell$Holds");
    assertThat(HexFormat.of().formatHex(write(example(type)))).isEqualTo(
        "bf646f76657281bf6b7265736572766174696f6e1b000001000000000064686f6c646943414e43454c4c4544ffff");
  }

  /** A decision says that a request is held where it is, and nothing where it is not. */
  @Test
  void decision_ofARequestThatIsNotHeld_isAsLongAsBefore() {
    DecisionReply held = (DecisionReply) example(DecisionReply.class);
    DecisionReply.ChosenStep step = Objects.requireNonNull(held.steps()).getFirst();
    DecisionReply free =
        new DecisionReply(
            held.home(), held.workflow(), held.order(),
            List.of(
                new DecisionReply.ChosenStep(
                    step.step(), step.depth(), step.predictedCachedTokens(), step.confirmedCachedTokens(),
                    step.bestCachedTokens(), step.everCachedTokens(), step.suspect(), false)),
            held.reason(), held.noWorkerReason(), held.load(), held.turn());
    assertThat(step.held()).isTrue();
    assertThat(write(held)).hasSize(write(free).length + "?held!".length());
    assertThat(read(write(free), DecisionReply.class)).isEqualTo(free);
  }

  /** What a node of this version writes of a key, and every later one has to read. */
  @Test
  void keys_asTheyAreWritten() throws Exception {
    Class<?> type = Class.forName("io.kvasir.access.store.KeyChanges");
    assertThat(HexFormat.of().formatHex(write(example(type)))).isEqualTo(
        "bf6462794964bf6474657874bf626964647465787465656e747279647465787469656e74727954696d651b0000"
            + "0100000000006864697361626c6564f56764656c65746564f569737461746554696d651b0000010000000000ffffff");
  }

  /** The same of the limits' messages. */
  @Test
  void leases_asTheyAreWritten() throws Exception {
    Class<?> renew = Class.forName("io.kvasir.limits.LimitOwner$Renew");
    assertThat(HexFormat.of().formatHex(write(example(renew))))
        .isEqualTo(
            "bf646e6f646564746578746873657175656e63651b0000010000000000677265706f72747381bf6571756f7461bf69"
                + "64696d656e73696f6e664255444745546c77696e646f774d696c6c69731b000001000000000066616d6f756e741b00"
                + "000100000000006562757273741b0000010000000000ff676772616e7465641b000001000000000069617661696c61"
                + "626c651b0000010000000000646e656564bf66616374697665f56777616974696e671b00000100000000006c6c6561"
                + "737457616974696e671b0000010000000000ff69756e636f756e7465641b00000100000000006c61636b6e6f776c65"
                + "646765641b0000010000000000657374616d70bf656f776e657264746578746461734f661b0000010000000000656c"
                + "6576656c1b0000010000000000ffff677265706c79546f7470656b6b6f3a2f2f6c6f63616c2f69676e6f7265ff");
    Class<?> renewed = Class.forName("io.kvasir.limits.LimitOwner$Renewed");
    assertThat(HexFormat.of().formatHex(write(example(renewed))))
        .isEqualTo(
            "bf656c696d697464746578746873657175656e63651b0000010000000000666772616e747381bf6571756f7461bf69"
                + "64696d656e73696f6e664255444745546c77696e646f774d696c6c69731b000001000000000066616d6f756e741b00"
                + "000100000000006562757273741b0000010000000000ff676772616e7465641b000001000000000066746172676574"
                + "1b0000010000000000657374616d70bf656f776e657264746578746461734f661b0000010000000000656c6576656c"
                + "1b0000010000000000ffffff");
  }

  /** Why a request was not admitted: nodes of earlier versions go by the word, and later ones may have new ones. */
  @ParameterizedTest
  @CsvSource({
      "TENANT_QUEUE_FULL, tenant_queue_full", "QUEUE_FULL, queue_full", "QUEUE_BYTES, queue_bytes",
      "EXPECTED_WAIT, expected_wait", "TIMEOUT, timeout", "FIRST_WORKER, first_worker", "OTHER, of_a_later_version"})
  void refusals_areWrittenAsWords(RefusalReason reason, String word) throws Exception {
    AdmissionRefusal refusal = new AdmissionRefusal(reason, true, "knob", 3, 2, "requests", 1);
    DecisionReply reply =
        new DecisionReply(1, null, null, null, "", null, null, new DecisionReply.Turn(false, 5, refusal));
    JsonNode sent = CBOR.readTree(write(reply));
    ObjectNode of = (ObjectNode) sent.at("/turn/refusal");
    if (reason == RefusalReason.OTHER) {
      of.put("reason", word);
    }
    assertThat(of.get("reason").asText()).isEqualTo(word);
    assertThat(of.get("callersOwn").asBoolean()).isTrue();
    assertThat(read(CBOR.writeValueAsBytes(sent), DecisionReply.class)).isEqualTo(reply);
  }

  /** The same of what nodes tell each other of themselves. */
  @Test
  void reports_asTheyAreWritten() throws Exception {
    Class<?> query = Class.forName("io.kvasir.app.node.NodeReports$Query");
    assertThat(HexFormat.of().formatHex(write(example(query))))
        .isEqualTo(
            "bf67686973746f7279f56774656e616e7473f5677265706c79546f7470656b6b6f3a2f2f6c6f63616c2f69676e6f72"
                + "65ff");
    Class<?> reply = Class.forName("io.kvasir.app.node.NodeReports$Reply");
    assertThat(HexFormat.of().formatHex(write(example(reply))))
        .isEqualTo(
            "bf667265706f7274bf646e6f646564746578746776657273696f6e647465787466757074696d651b00000100000000"
                + "00666375744f6666f56677696e646f77fb3fe00000000000006766696775726573bf6676616c75657381fb3fe00000"
                + "000000006474746674bf6b7570706572426f756e647381fb3fe000000000000066636f756e747381fb3fe000000000"
                + "0000ffff6870726f626c656d7381bf687365766572697479675741524e494e47647768617464746578746672656d65"
                + "64796474657874ffff67686973746f727981bf63616765fb3fe00000000000006766696775726573bf6676616c7565"
                + "7381fb3fe00000000000006474746674bf6b7570706572426f756e647381fb3fe000000000000066636f756e747381"
                + "fb3fe0000000000000ffffff6774656e616e747381bf6766696775726573bf6674656e616e74647465787471726571"
                + "75657374735065725365636f6e64fb3fe000000000000068696e466c696768740766746f74616c73bf687265717565"
                + "7374731b000001000000000067726566757365641b00000100000000006c70726f6d7074546f6b656e731b00000100"
                + "000000006c636163686564546f6b656e731b00000100000000006c6f7574707574546f6b656e731b00000100000000"
                + "006773747265616d731b0000010000000000716669727374546f6b656e5365636f6e6473fb3fe0000000000000ffff"
                + "666c696d69747381bf656c696d697464746578746c77696e646f774d696c6c69731b00000100000000006475736564"
                + "1b0000010000000000626f661b0000010000000000ffffff");
  }

  private static byte[] write(Object message) {
    return SERIALIZATION.serialize(message).get();
  }

  private static Object read(byte[] bytes, Class<?> type) {
    return SERIALIZATION.deserialize(bytes, type).get();
  }

  /** The objects of a message that stand for records, itself first. */
  private static List<ObjectNode> records(Object value, JsonNode node) throws Exception {
    return records(value, node, new ArrayList<>());
  }

  private static List<ObjectNode> records(Object value, JsonNode node, List<Object> values) throws Exception {
    List<ObjectNode> found = new ArrayList<>();
    if (value.getClass().isRecord() && node instanceof ObjectNode object) {
      found.add(object);
      values.add(value);
      for (RecordComponent component : value.getClass().getRecordComponents()) {
        component.getAccessor().setAccessible(true);
        Object part = component.getAccessor().invoke(value);
        JsonNode place = object.get(component.getName());
        if (part instanceof List<?> list && place != null) {
          for (int i = 0; i < list.size(); i++) {
            found.addAll(records(list.get(i), place.get(i), values));
          }
        } else if (part != null && place != null) {
          found.addAll(records(part, place, values));
        }
      }
    }
    return found;
  }

  /** A value of a type in which every field says something. */
  private static Object example(Type type) {
    if (type instanceof ParameterizedType generic) {
      Class<?> raw = (Class<?>) generic.getRawType();
      List<Object> parts =
          Stream.of(generic.getActualTypeArguments())
              .filter(part -> raw != ActorRef.class)
              .map(WireMessagesTest::example)
              .toList();
      if (raw == List.class) {
        return List.of(parts.getFirst());
      } else if (raw == Set.class) {
        return Set.of(parts.getFirst());
      } else if (raw == Map.class) {
        return new LinkedHashMap<>(Map.of(parts.getFirst(), parts.getLast()));
      } else if (raw == ActorRef.class) {
        return SYSTEM.ignoreRef();
      }
      return example(raw);
    }
    Class<?> plain = (Class<?>) type;
    if (plain.isEnum()) {
      return plain.getEnumConstants()[plain.getEnumConstants().length - 1];
    } else if (plain.isSealed()) {
      return example(plain.getPermittedSubclasses()[0]);
    } else if (plain.isAnnotationPresent(JsonSubTypes.class)) {
      return example(plain.getAnnotation(JsonSubTypes.class).value()[0].value());
    } else if (plain.isRecord()) {
      return record(plain);
    } else if (plain.isArray()) {
      Object array = Array.newInstance(plain.getComponentType(), 1);
      Array.set(array, 0, example(plain.getComponentType()));
      return array;
    }
    return switch (plain.getName()) {
      case "byte" -> (byte) 5;
      case "short" -> (short) -6;
      case "int", "java.lang.Integer" -> 7;
      case "long", "java.lang.Long" -> 1L << 40;
      case "double", "java.lang.Double" -> 0.5;
      case "boolean", "java.lang.Boolean" -> true;
      case "java.lang.String" -> "text";
      case "java.net.URI" -> URI.create("http://host:1");
      case "java.time.Duration" -> Duration.ofSeconds(3);
      case "java.time.Instant" -> Instant.ofEpochSecond(1);
      default -> throw new AssertionError("no example of " + plain + " is known; add one");
    };
  }

  private static Object record(Class<?> type) {
    RecordComponent[] components = type.getRecordComponents();
    try {
      Constructor<?> constructor =
          type.getDeclaredConstructor(
              Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
      constructor.setAccessible(true);
      return constructor.newInstance(
          Arrays.stream(components).map(component -> example(component.getGenericType())).toArray());
    } catch (ReflectiveOperationException impossible) {
      throw new LinkageError("no example of " + type, impossible);
    }
  }
}
