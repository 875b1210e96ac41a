package io.kvasir.scale.keda;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.MessageOptions;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** KEDA's side of the external scaler protocol, with messages as protobuf itself makes them of KEDA's definition. */
public final class KedaClient {
  private static final FieldDescriptorProto.Type STRING = FieldDescriptorProto.Type.TYPE_STRING;
  private static final FieldDescriptorProto.Type INT64 = FieldDescriptorProto.Type.TYPE_INT64;
  private static final FieldDescriptorProto.Type DOUBLE = FieldDescriptorProto.Type.TYPE_DOUBLE;
  private static final FieldDescriptorProto.Type BOOL = FieldDescriptorProto.Type.TYPE_BOOL;
  private static final FieldDescriptorProto.Label OPTIONAL = FieldDescriptorProto.Label.LABEL_OPTIONAL;
  private static final FieldDescriptorProto.Label REPEATED = FieldDescriptorProto.Label.LABEL_REPEATED;
  private static final FileDescriptor FILE = file();

  private final ManagedChannel channel;

  /** Over a connection to a node. */
  public KedaClient(ManagedChannel channel) {
    this.channel = channel;
  }

  private static FileDescriptor file() {
    try {
      return FileDescriptor.buildFrom(
          FileDescriptorProto.newBuilder()
              .setName("externalscaler.proto")
              .setPackage("externalscaler")
              .setSyntax("proto3")
              .addMessageType(
                  message(
                      "ScaledObjectRef", field("name", 1, STRING), field("namespace", 2, STRING),
                      field("scalerMetadata", 3, ".externalscaler.ScaledObjectRef.Entry", REPEATED))
                      .addNestedType(
                          message("Entry", field("key", 1, STRING), field("value", 2, STRING))
                              .setOptions(MessageOptions.newBuilder().setMapEntry(true))))
              .addMessageType(message("IsActiveResponse", field("result", 1, BOOL)))
              .addMessageType(
                  message(
                      "GetMetricSpecResponse",
                      field("metricSpecs", 1, ".externalscaler.MetricSpec", REPEATED)))
              .addMessageType(
                  message(
                      "MetricSpec", field("metricName", 1, STRING), field("targetSize", 2, INT64),
                      field("targetSizeFloat", 3, DOUBLE)))
              .addMessageType(
                  message(
                      "GetMetricsRequest",
                      field("scaledObjectRef", 1, ".externalscaler.ScaledObjectRef", OPTIONAL),
                      field("metricName", 2, STRING), field("ofTomorrow", 9, STRING)))
              .addMessageType(
                  message(
                      "GetMetricsResponse",
                      field("metricValues", 1, ".externalscaler.MetricValue", REPEATED)))
              .addMessageType(
                  message(
                      "MetricValue", field("metricName", 1, STRING),
                      field("metricValue", 2, INT64), field("metricValueFloat", 3, DOUBLE)))
              .build(),
          new FileDescriptor[0]);
    } catch (DescriptorValidationException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static DescriptorProto.Builder message(String name, FieldDescriptorProto... fields) {
    return DescriptorProto.newBuilder().setName(name).addAllField(List.of(fields));
  }

  private static FieldDescriptorProto field(String name, int number, FieldDescriptorProto.Type type) {
    return FieldDescriptorProto.newBuilder()
        .setName(name).setNumber(number).setType(type).setLabel(OPTIONAL).build();
  }

  private static FieldDescriptorProto field(String name, int number, String type, FieldDescriptorProto.Label label) {
    return FieldDescriptorProto.newBuilder()
        .setName(name).setNumber(number).setLabel(label).setTypeName(type)
        .setType(FieldDescriptorProto.Type.TYPE_MESSAGE).build();
  }

  private static Descriptor type(String name) {
    return FILE.findMessageTypeByName(name);
  }

  private static MethodDescriptor<DynamicMessage, DynamicMessage> method(
      MethodType kind, String name, String request, String response) {
    return MethodDescriptor.<DynamicMessage, DynamicMessage>newBuilder()
        .setType(kind)
        .setFullMethodName("externalscaler.ExternalScaler/" + name)
        .setRequestMarshaller(ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(type(request))))
        .setResponseMarshaller(ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(type(response))))
        .build();
  }

  private static DynamicMessage object(Map<String, String> metadata) {
    Descriptor ref = type("ScaledObjectRef");
    DynamicMessage.Builder builder =
        DynamicMessage.newBuilder(ref)
            .setField(ref.findFieldByName("name"), "llama")
            .setField(ref.findFieldByName("namespace"), "prod");
    Descriptor entry = ref.findNestedTypeByName("Entry");
    metadata.forEach((key, value) -> builder.addRepeatedField(
        ref.findFieldByName("scalerMetadata"),
        DynamicMessage.newBuilder(entry)
            .setField(entry.findFieldByName("key"), key)
            .setField(entry.findFieldByName("value"), value)
            .build()));
    return builder.build();
  }

  /** Whether there is anything to do for a trigger with this metadata. */
  public boolean isActive(Map<String, String> metadata) {
    return isActive(call("IsActive", "ScaledObjectRef", "IsActiveResponse", object(metadata)));
  }

  private static boolean isActive(DynamicMessage response) {
    return (boolean) response.getField(type("IsActiveResponse").findFieldByName("result"));
  }

  /** Waits for each message of the stream. */
  public Iterator<Boolean> activity(Map<String, String> metadata) {
    Iterator<DynamicMessage> responses =
        ClientCalls.blockingServerStreamingCall(
            channel,
            method(MethodType.SERVER_STREAMING, "StreamIsActive", "ScaledObjectRef", "IsActiveResponse"),
            CallOptions.DEFAULT, object(metadata));
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return responses.hasNext();
      }

      @Override
      public Boolean next() {
        return isActive(responses.next());
      }
    };
  }

  /** The metric's name and target, as {@code name/whole/double}. */
  public String spec(Map<String, String> metadata) {
    DynamicMessage response = call("GetMetricSpec", "ScaledObjectRef", "GetMetricSpecResponse", object(metadata));
    return only(response, "metricSpecs", "metricName", "targetSize", "targetSizeFloat");
  }

  /** The metric's name and value, as {@code name/whole/double}. */
  public String metric(Map<String, String> metadata, String name) {
    Descriptor request = type("GetMetricsRequest");
    DynamicMessage query =
        DynamicMessage.newBuilder(request)
            .setField(request.findFieldByName("scaledObjectRef"), object(metadata))
            .setField(request.findFieldByName("metricName"), name)
            .setField(request.findFieldByName("ofTomorrow"), "a field of a newer version")
            .build();
    DynamicMessage response = call("GetMetrics", "GetMetricsRequest", "GetMetricsResponse", query);
    return only(response, "metricValues", "metricName", "metricValue", "metricValueFloat");
  }

  private static String only(DynamicMessage response, String list, String... fields) {
    List<?> values = (List<?>) response.getField(response.getDescriptorForType().findFieldByName(list));
    DynamicMessage value = (DynamicMessage) values.getFirst();
    return String.join(
        "/",
        Arrays.stream(fields)
            .map(field -> value.getField(value.getDescriptorForType().findFieldByName(field)).toString())
            .toList());
  }

  private DynamicMessage call(String name, String request, String response, DynamicMessage message) {
    return ClientCalls.blockingUnaryCall(
        channel, method(MethodType.UNARY, name, request, response), CallOptions.DEFAULT, message);
  }
}
