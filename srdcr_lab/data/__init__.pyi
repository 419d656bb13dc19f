from .checks import check_source as check_source
from .items import ItemSet as ItemSet
from .load import SHIPPED as SHIPPED, YEAR_OFFSETS as YEAR_OFFSETS, load_items as load_items, printed_tables as printed_tables
from .forms import offset_year as offset_year, year_forms as year_forms
from .perturbing import Perturbed as Perturbed, by_outcome as by_outcome, by_reason as by_reason, perturb as perturb
