"""What is offered to find people, and the BigMinds that they run."""

from accounts.models import Instance
from bigmind.core.operations import Operation
from bigmind.core.reply_shapes import reply_of
from knowledge.people import directory, expertise, instances
from knowledge.shapes.directory import DirectoryShape, ExpertsShape
from knowledge.shapes.instances import InstanceShape, InstancesShape

OPERATIONS = (
    Operation(
        name="directory_list",
        title="List who is here",
        call=directory.list_directory,
        shape=DirectoryShape,
        route="GET directory/",
        toolset="directory",
        template="directory.md",
    ),
    Operation(
        name="directory_search",
        title="Find who worked on something",
        call=expertise.search_directory,
        shape=ExpertsShape,
        route="GET directory/search/",
        toolset="directory",
        template="experts.md",
        is_slow=True,
    ),
    Operation(
        name="directory_list_instances",
        title="List instances",
        call=instances.list_instances,
        shape=InstancesShape,
        route="GET directory/instances/",
        toolset="directory",
        template="instances.md",
    ),
    Operation(
        name="directory_register_instance",
        title="Report an instance",
        call=instances.register_instance,
        shape=reply_of(instances.Registration, {Instance: InstanceShape}),
        route="PUT directory/instances/{instance_id}/",
        toolset="directory",
        idempotent=True,
        template="instance_registered.md",
    ),
    Operation(
        name="directory_forget_instance",
        title="Remove an instance",
        call=instances.forget_instance,
        shape=InstanceShape,
        route="DELETE directory/instances/{instance_id}/",
        toolset="directory",
        idempotent=True,
        template="instance_forgotten.md",
    ),
)
